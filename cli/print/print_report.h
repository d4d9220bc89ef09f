#pragma once

#include <span>
#include <string>

#include "cli/print/terminal_style.h"
#include "src/predict/report.h"

namespace foretell::cli {

/// For people: one result in full, several as a table with a row each. On a
/// terminal with bars for the parts of memory, in color, and within its width.
std::string FormatReports(std::span<const Report> reports,
                          const TerminalStyle& style = {});

/// "24 by columns, 12 by rows, 1 whole on every GPU".
std::string SharedLayersText(const SharedLayerCounts& layers);

/// A header line and a line per result, RFC 4180.
std::string FormatCsv(std::span<const Report> reports);

}  // namespace foretell::cli
