#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace foretell {

/// One row of a table, by the names of its columns.
class CsvRow {
 public:
  CsvRow(const std::string& path, const std::vector<std::string>& header,
         std::vector<std::string> cells, std::int64_t line)
      : path_(path), header_(header), cells_(std::move(cells)), line_(line) {}

  /// Line of the file on which the row starts, from 1.
  std::int64_t line() const { return line_; }
  /// Names of the columns, in order.
  const std::vector<std::string>& columns() const { return header_; }
  /// The cell of a column, or nullptr when the table has no such column.
  const std::string* Find(std::string_view column) const;
  /// The cell of a column. Throws Error(kInvalidArgument) that lists the
  /// existing columns.
  const std::string& At(std::string_view column) const;
  /// Throws Error(kInvalidArgument) that lists all of `columns` that are
  /// missing and the existing ones.
  void Require(std::initializer_list<std::string_view> columns) const;

 private:
  const std::string& path_;
  const std::vector<std::string>& header_;
  std::vector<std::string> cells_;
  std::int64_t line_;
};

/// Reads a table in CSV (RFC 4180, UTF-8, a header in its first row), plain or
/// gzipped, and calls `use` for each row. Empty lines are skipped (a lone "" is
/// a cell); blanks around a cell, unless in quotes, and the apostrophe that
/// CsvCell puts before a formula are removed. Throws Error that names path and
/// line: kNotFound, kIo, and kCorrupt for two columns of one name, a row with
/// another number of cells than the header, an open quote, a bad gzip stream or
/// one of 16 MiB and more that unpacks to over 100 times its size, or a row
/// longer than 16 MiB.
void ForEachCsvRow(const std::string& path,
                   const std::function<void(const CsvRow&)>& use);

}  // namespace foretell
