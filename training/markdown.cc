#include "training/markdown.h"

#include "src/core/text_table.h"

namespace foretell::training {
namespace {

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

std::string DrawText(const TableText& table) {
  TextTable text(table.header);
  for (const std::vector<std::string>& row : table.rows) text.AddRow(row);
  return text.ToString();
}

std::string DrawMarkdown(const TableText& table) {
  std::string text = MarkdownRow(table.header) + "|---|";
  for (std::size_t i = 1; i < table.header.size(); ++i) text += "---:|";
  text += "\n";
  for (const std::vector<std::string>& row : table.rows) {
    text += MarkdownRow(row);
  }
  return text;
}

}  // namespace foretell::training
