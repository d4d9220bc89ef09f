#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/collect/fill.h"
#include "datasets/collect/generate.h"
#include "datasets/collect/import.h"
#include "datasets/store/merge.h"

namespace foretell::cli {

/// At most twenty of `lines`, indented and Printable, then how many more there
/// are.
std::string FormatSome(const std::vector<std::string>& lines);

/// @name One line about what a run did
/// @{
std::string FormatSummary(const dataset::GenerateSummary& summary);
std::string FormatSummary(const dataset::FillSummary& summary);
std::string FormatSummary(const dataset::ImportSummary& summary);
/// `path` names the merged file.
std::string FormatSummary(const std::string& path,
                          const dataset::MergeSummary& summary);
/// @}

}  // namespace foretell::cli
