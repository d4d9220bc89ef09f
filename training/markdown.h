#pragma once

#include <string>
#include <vector>

namespace foretell::training {

/// A table that is yet to be drawn.
struct TableText {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  ///< As wide as the header.
};

/// Aligned columns, as TextTable.
std::string DrawText(const TableText& table);
/// A Markdown table: the first column to the left, the others to the right.
std::string DrawMarkdown(const TableText& table);

}  // namespace foretell::training
