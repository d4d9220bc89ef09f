#include "src/core/text_table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "src/core/failure.h"
#include "src/core/printable.h"

namespace foretell {
namespace {

constexpr char kColumnGap[] = "  ";

/// Characters of UTF-8 text.
std::size_t Width(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) {
    row += ' ';
    for (const char c : cell) row += c == '|' ? "\\|" : std::string(1, c);
    row += " |";
  }
  return row + "\n";
}

}  // namespace

TextTable::TextTable(std::vector<std::string> header) {
  rows_.push_back(std::move(header));
}

void TextTable::AddRow(std::vector<std::string> cells) {
  if (cells.size() != rows_.front().size()) {
    throw InternalFailure("a table row has {} cells, expected {}", cells.size(),
                          rows_.front().size());
  }
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToString() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], Width(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - Width(row[i]), ' ');
      line += i == 0 ? row[i] + padding : kColumnGap + padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string TextTable::ToMarkdown() const {
  std::string text = MarkdownRow(rows_.front()) + "|---|";
  for (std::size_t i = 1; i < rows_.front().size(); ++i) text += "---:|";
  text += "\n";
  for (std::size_t i = 1; i < rows_.size(); ++i) text += MarkdownRow(rows_[i]);
  return text;
}

}  // namespace foretell
