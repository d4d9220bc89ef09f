#pragma once

#include <span>
#include <string>
#include <vector>

#include "foretell/zoo.h"

namespace foretell::cli {

/// @name Answers of `foretell zoo list`: lines, or a JSON document
/// @{
std::string FormatNames(const std::vector<std::string>& names, bool as_json);
/// A line per point, in the form of the flags of `foretell predict`.
std::string FormatPoints(std::span<const zoo::SweepPoint> points, bool as_json);
/// Points per family; as lines also their total.
std::string FormatCounts(std::span<const zoo::SweepPoint> points, bool as_json);
/// @}

/// Family and configuration of a network, as JSON.
std::string FormatDescription(const zoo::Description& description);

}  // namespace foretell::cli
