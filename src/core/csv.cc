#include "src/core/csv.h"

#include <cstddef>

#include "src/core/parse_number.h"
#include "src/core/printable.h"

namespace foretell {
namespace {

constexpr std::string_view kFormulaSigns = "=+-@";

bool IsNumber(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return ParseNumber<double>(text).has_value();
}

/// Whether `text` begins with `apostrophes` or more apostrophes and then a sign
/// of a formula.
bool BeginsFormula(std::string_view text, std::size_t apostrophes) {
  const std::size_t sign = text.find_first_not_of('\'');
  return sign != std::string_view::npos && sign >= apostrophes &&
         kFormulaSigns.find(text[sign]) != std::string_view::npos;
}

}  // namespace

std::string CsvCell(std::string_view text) {
  std::string plain = Printable(text);
  if (BeginsFormula(plain, 0) && !IsNumber(plain)) plain.insert(0, 1, '\'');
  const bool has_edges = plain.starts_with(' ') || plain.ends_with(' ');
  if (!has_edges && plain.find_first_of(",\"") == plain.npos) return plain;
  std::string cell = "\"";
  for (const char c : plain) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

std::string CsvLine(std::span<const std::string> cells) {
  // An empty line is not a row.
  if (cells.size() == 1 && cells.front().empty()) return "\"\"\n";
  std::string line;
  const char* before = "";
  for (const std::string& cell : cells) {
    line.append(before).append(CsvCell(cell));
    before = ",";
  }
  return line + "\n";
}

std::string_view CsvText(std::string_view cell) {
  return BeginsFormula(cell, 1) ? cell.substr(1) : cell;
}

}  // namespace foretell
