#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cli/print/terminal_style.h"
#include "src/judge/report.h"

namespace foretell::cli {

/// Level of detail of a printed result.
enum class Detail : std::uint8_t {
  kSummary,  ///< The verdict and what a reader asks first.
  kAll,      ///< And every figure, with the table of MIG profiles.
};

/// For people: a summary of one result (src/judge/summary.h), or a table with
/// a row for each of several. On a terminal in color, within its width, and
/// with a bar for the parts of memory.
std::string FormatReports(std::span<const Report> reports,
                          const TerminalStyle& style = {},
                          Detail detail = Detail::kSummary);

/// "24 by columns, 12 by rows, 1 whole on every GPU".
std::string SharedLayersText(const SharedLayerCounts& layers);

/// A header line and a line per result, RFC 4180.
std::string FormatCsv(std::span<const Report> reports);

}  // namespace foretell::cli
