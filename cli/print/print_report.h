#pragma once

#include <span>
#include <string>

#include "src/predict/report.h"

namespace foretell::cli {

/// For people: one result in full, several as a table with a row each.
std::string FormatReports(std::span<const Report> reports);

/// A header line and a line per result, RFC 4180.
std::string FormatCsv(std::span<const Report> reports);

}  // namespace foretell::cli
