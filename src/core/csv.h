#pragma once

#include <span>
#include <string>
#include <string_view>

namespace foretell {

/// `text` as one cell of a CSV table (RFC 4180): Printable, quoted if
/// necessary, and with an apostrophe before a leading `=`, `+`, `-` or `@`
/// unless the cell is a number: a spreadsheet would evaluate it as a formula.
/// Blanks at its edges must be quoted, too: ForEachCsvRow removes others.
std::string CsvCell(std::string_view text);

/// `cells` as one line, with its line feed; never an empty line, which would
/// be read as no row.
std::string CsvLine(std::span<const std::string> cells);

/// Inverse of CsvCell for an unquoted cell: removes the apostrophe. CsvCell
/// guards text that begins with apostrophes in front of such a character too,
/// so that every text comes back.
std::string_view CsvText(std::string_view cell);

}  // namespace foretell
