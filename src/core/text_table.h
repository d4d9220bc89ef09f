#pragma once

#include <string>
#include <vector>

namespace foretell {

/// Columns of text, the first aligned to the left, the others to the right.
/// Cells are made Printable (printable.h): they may hold names from files.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);

  /// Adds a row; requires as many cells as the header has.
  void AddRow(std::vector<std::string> cells);

  /// All rows under the header, two blanks between columns.
  std::string ToString() const;
  /// The same as a table in Markdown.
  std::string ToMarkdown() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace foretell
