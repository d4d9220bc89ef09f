#include "src/core/csv_rows.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "foretell/error.h"
#include "src/core/csv.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/numbers.h"

namespace foretell {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kMaxRowBytes = 16 * 1024 * 1024;
/// A gzipped table of measurements unpacks to 5 to 20 times its size, a file
/// made to hurt to 1,000 times; what is small does not matter.
constexpr std::int64_t kMostUnpacking = 100;
constexpr std::int64_t kFreeBytes = 16 * 1024 * 1024;

/// The characters of a file, gzipped or not.
class Characters {
 public:
  explicit Characters(const std::string& path)
      : path_(path), file_(nullptr, &gzclose) {
    RegularFile file = OpenRegularFile(path, kAnySize);
    file_.reset(gzdopen(file.descriptor.number(), "rb"));
    if (file_ == nullptr) {
      throw InternalFailure("{}: zlib cannot read it", path);
    }
    file.descriptor.Release();
  }

  /// The next character; empty at the end.
  std::optional<char> Next() {
    if (at_ == size_ && !Fill()) return std::nullopt;
    return buffer_[at_++];
  }

 private:
  bool Fill() {
    const int count = gzread(file_.get(), buffer_.data(), buffer_.size());
    int status = Z_OK;
    const char* message = gzerror(file_.get(), &status);
    if (count < 0 || (status != Z_OK && status != Z_STREAM_END)) {
      throw Error(status == Z_ERRNO ? ErrorCode::kIo : ErrorCode::kCorrupt,
                  fmt::format("{}: cannot be read: {}", path_, message));
    }
    size_ = static_cast<std::size_t>(count);
    const std::string_view bytes(buffer_.data(), size_);
    const bool has_mark = unpacked_ == 0 && bytes.starts_with(kByteOrderMark);
    at_ = has_mark ? kByteOrderMark.size() : 0;
    unpacked_ += count;
    RefuseBomb();
    return at_ < size_;
  }

  /// Time is to be in proportion to the file's size.
  void RefuseBomb() const {
    if (unpacked_ <= kFreeBytes ||
        unpacked_ / kMostUnpacking <= gzoffset(file_.get())) {
      return;
    }
    throw Corrupt("{}: unpacks to more than {} times its size", path_,
                  kMostUnpacking);
  }

  const std::string& path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  std::array<char, 1 << 16> buffer_;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  std::int64_t unpacked_ = 0;  ///< Bytes so far.
};

/// Splits characters into rows of cells.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), in_(path) {}

  /// Line on which the last row started.
  std::int64_t line() const { return row_line_; }

  /// The next row that is not empty; false at the end.
  bool Next(std::vector<std::string>& cells) {
    while (ReadRow(cells)) {
      if (cells.size() == 1 && cells[0].empty() && !has_quotes_) continue;
      for (std::string& cell : cells) cell = std::string(CsvText(cell));
      return true;
    }
    return false;
  }

 private:
  bool ReadRow(std::vector<std::string>& cells) {
    cells.assign(1, {});
    row_line_ = line_;
    row_bytes_ = 0;
    has_quotes_ = false;
    bool any = false;
    while (const std::optional<char> next = Take()) {
      any = true;
      if (*next == '\n') break;
      if (*next == ',') {
        FinishCell(cells.back());
        cells.emplace_back();
      } else if (*next == '"' && IsBeforeText(cells.back())) {
        has_quotes_ = true;
        cells.back().clear();
        ReadQuoted(cells.back());
        quoted_ = cells.back().size();
      } else if (*next != '\r') {
        cells.back() += *next;
      }
    }
    FinishCell(cells.back());
    return any;
  }

  bool IsBeforeText(std::string_view cell) const {
    return quoted_ == 0 && cell.find_first_not_of(kBlanks) == cell.npos;
  }

  /// Removes blanks that are not in quotes.
  void FinishCell(std::string& cell) {
    const std::size_t end = cell.find_last_not_of(kBlanks) + 1;
    cell.resize(std::max(end, quoted_));
    if (quoted_ == 0) cell.erase(0, cell.find_first_not_of(kBlanks));
    quoted_ = 0;
  }

  /// The rest of a quoted cell; "" stands for a quote.
  void ReadQuoted(std::string& cell) {
    while (const std::optional<char> next = Take()) {
      if (*next != '"') {
        cell += *next;
        continue;
      }
      const std::optional<char> after = Take();
      if (after != '"') {
        pending_ = after;
        return;
      }
      cell += '"';
    }
    throw Corrupt("{}: line {}: a quote is not closed", path_, row_line_);
  }

  std::optional<char> Take() {
    if (pending_) return std::exchange(pending_, std::nullopt);
    const std::optional<char> next = in_.Next();
    if (next == '\n') ++line_;
    if (++row_bytes_ > kMaxRowBytes) {
      throw Corrupt("{}: line {}: a row of more than 16 MiB", path_, row_line_);
    }
    return next;
  }

  const std::string& path_;
  Characters in_;
  std::optional<char> pending_;
  std::int64_t line_ = 1;
  std::int64_t row_line_ = 1;
  std::size_t row_bytes_ = 0;
  bool has_quotes_ = false;  ///< The row has a cell in quotes, e.g. "".
  std::size_t quoted_ = 0;   ///< Bytes of the cell so far that were in quotes.
};

/// Of two columns of one name only the first would be read; columns without a
/// name, which spreadsheets write, are never read.
void CheckColumns(const std::string& path,
                  const std::vector<std::string>& header) {
  std::set<std::string_view> names;
  for (const std::string& name : header) {
    if (name.empty() || names.insert(name).second) continue;
    throw Corrupt("{}: two columns are named '{}'", path, name);
  }
}

}  // namespace

const std::string* CsvRow::Find(std::string_view column) const {
  const auto found = std::ranges::find(header_, column);
  if (found == header_.end()) return nullptr;
  return &cells_[static_cast<std::size_t>(found - header_.begin())];
}

const std::string& CsvRow::At(std::string_view column) const {
  Require({column});
  return *Find(column);
}

void CsvRow::Require(std::initializer_list<std::string_view> columns) const {
  std::vector<std::string_view> missing;
  std::ranges::remove_copy_if(
      columns, std::back_inserter(missing),
      [this](std::string_view column) { return Find(column) != nullptr; });
  if (missing.empty()) return;
  throw InvalidArgument("{}: no column{} '{}'; there are: '{}'", path_,
                        missing.size() > 1 ? "s" : "",
                        fmt::join(missing, "', '"), fmt::join(header_, "', '"));
}

void ForEachCsvRow(const std::string& path,
                   const std::function<void(const CsvRow&)>& use) {
  Reader reader(path);
  std::vector<std::string> header;
  if (!reader.Next(header)) {
    throw Corrupt("{}: an empty table", path);
  }
  CheckColumns(path, header);
  std::vector<std::string> cells;
  while (reader.Next(cells)) {
    if (cells.size() != header.size()) {
      throw Corrupt("{}: line {} has {}, the header {}", path, reader.line(),
                    Counted(cells.size(), "cell"), header.size());
    }
    use(CsvRow(path, header, cells, reader.line()));
  }
}

}  // namespace foretell
