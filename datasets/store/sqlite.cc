// Why a rollback journal and not a write-ahead log: datasets live on shared
// file systems of clusters, where SQLite's WAL, which needs memory shared
// between processes, is not allowed; and a dataset should be one file that can
// be copied. `synchronous=EXTRA` also syncs the folder after the journal has
// gone, so that a power failure cannot undo what was committed. Rows come in
// large transactions, which makes the syncs cheap.
#include "datasets/store/sqlite.h"

#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "datasets/store/checksum.h"
#include "foretell/error.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/units.h"

namespace foretell::dataset {
namespace {

constexpr int kBusyTimeoutMs = 60'000;
/// Longest TEXT or BLOB that is accepted from a file.
constexpr int kMaxCellBytes = 1 << 29;
/// Of SQLite's machine: a hundred times what the checks of a good file need.
constexpr std::int64_t kStepsPerByte = 100;
constexpr int kStepsAtOnce = 1000;

constexpr const char* kPragmas[] = {
    "PRAGMA journal_mode=DELETE", "PRAGMA synchronous=EXTRA",
    "PRAGMA foreign_keys=ON",     "PRAGMA trusted_schema=OFF",
    "PRAGMA cell_size_check=ON",  "PRAGMA mmap_size=0",
};

ErrorCode CodeOf(int status) {
  switch (status & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_SCHEMA:
    case SQLITE_INTERRUPT:  // By LimitWork.
    case SQLITE_ERROR:  // A schema that does not have our tables or columns.
      return ErrorCode::kCorrupt;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
    case SQLITE_INTERNAL:
      return ErrorCode::kInternal;
    default:
      return ErrorCode::kIo;
  }
}

/// The file that SQLite opens for `path`, and next to which it looks for a
/// journal: links are followed. An empty name and names with a leading colon
/// have a special meaning in SQLite.
std::string FileOf(const std::string& path) {
  std::error_code missing;
  const std::filesystem::path real = std::filesystem::canonical(path, missing);
  if (!missing) return real.string();
  return path.empty() || path.front() == ':' ? "./" + path : path;
}

/// SQLite would block on a pipe, and read a device without end. Nothing is
/// opened: closing it would drop the locks that this process has on the file.
void RequireFile(const std::string& path, Access access) {
  struct stat info = {};
  const bool is_there = stat(path.c_str(), &info) == 0;
  if (!is_there && access != Access::kCreate) {
    throw NotFound("{}: no such dataset", path);
  }
  if (is_there && !S_ISREG(info.st_mode)) {
    throw IoFailure("{}: is not a regular file", path);
  }
}

/// The journal, if there is one. SQLite would block if it were a pipe.
std::optional<RegularFile> OpenJournal(const std::string& journal) {
  try {
    return OpenRegularFile(journal, kAnySize);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return std::nullopt;
  }
}

/// A journal may end with the name of a super-journal, which SQLite deletes
/// once it has rolled back. We never make one; an attacker could name any
/// file.
void RefuseSuperJournal(const std::string& journal) {
  constexpr std::string_view kMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
  const std::optional<RegularFile> file = OpenJournal(journal);
  if (!file || file->size < std::ssize(kMagic)) return;
  std::string end(kMagic.size(), '\0');
  if (pread(file->descriptor.number(), end.data(), end.size(),
            file->size - std::ssize(end)) != std::ssize(end) ||
      end != kMagic) {
    return;
  }
  throw Corrupt(
      "{}: names a super-journal, which foretell never writes; not opened",
      journal);
}

/// Reading, too, must be able to roll back what a killed writer left behind.
int FlagsOf(Access access, const std::string& journal) {
  if (access == Access::kCreate) {
    return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  }
  struct stat info = {};
  const bool has_journal = lstat(journal.c_str(), &info) == 0;
  return access == Access::kRead && !has_journal ? SQLITE_OPEN_READONLY
                                                 : SQLITE_OPEN_READWRITE;
}

/// Resets a statement no matter how its use ends.
class ResetScope {
 public:
  explicit ResetScope(sqlite3_stmt* statement) : statement_(statement) {}
  ~ResetScope() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  ResetScope(const ResetScope&) = delete;
  ResetScope& operator=(const ResetScope&) = delete;

 private:
  sqlite3_stmt* statement_;
};

int BindCell(sqlite3_stmt* statement, int index, const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    return sqlite3_bind_int64(statement, index, *integer);
  }
  if (const auto* real = std::get_if<double>(&cell)) {
    return sqlite3_bind_double(statement, index, *real);
  }
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return sqlite3_bind_text64(statement, index, text->data(), text->size(),
                               SQLITE_STATIC, SQLITE_UTF8);
  }
  if (const auto* blob = std::get_if<Blob>(&cell)) {
    return sqlite3_bind_blob64(statement, index, blob->bytes.data(),
                               blob->bytes.size(), SQLITE_STATIC);
  }
  return sqlite3_bind_null(statement, index);
}

Cell ColumnCell(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return sqlite3_column_int64(statement, column);
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_NULL:
      return std::monostate();
    default:
      break;
  }
  const bool is_text = sqlite3_column_type(statement, column) == SQLITE_TEXT;
  const void* data = sqlite3_column_blob(statement, column);
  const auto size =
      static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
  std::string bytes =
      data == nullptr ? "" : std::string(static_cast<const char*>(data), size);
  if (is_text) return bytes;
  return Blob{std::move(bytes)};
}

template <typename T>
const T& Get(const Cell& cell, const char* type) {
  const T* value = std::get_if<T>(&cell);
  if (value != nullptr) return *value;
  throw Corrupt("a cell does not hold the {} that its column declares", type);
}

}  // namespace

std::int64_t Integer(const Cell& cell) {
  return Get<std::int64_t>(cell, "INTEGER");
}
double Real(const Cell& cell) { return Get<double>(cell, "REAL"); }
const std::string& Text(const Cell& cell) {
  return Get<std::string>(cell, "TEXT");
}
const std::string& Bytes(const Cell& cell) {
  return Get<Blob>(cell, "BLOB").bytes;
}

Connection::Connection(const std::string& path, Access access) : path_(path) {
  RequireFile(path, access);
  const std::string file = FileOf(path);
  const std::string journal = file + "-journal";
  RefuseSuperJournal(journal);
  const int status = sqlite3_open_v2(file.c_str(), &handle_,
                                     FlagsOf(access, journal), nullptr);
  try {
    if (status != SQLITE_OK) Fail(status, "cannot be opened");
    if (access == Access::kRead) RefuseLog();
    Configure(access);
  } catch (...) {
    sqlite3_close_v2(handle_);
    throw;
  }
}

Connection::~Connection() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close_v2(handle_);
}

/// SQLite would make a log and its index next to a file that is only read. The
/// header is read through SQLite, since closing the file would drop its locks.
void Connection::RefuseLog() {
  constexpr int kVersionsAt = 18;
  constexpr char kLogVersion = 2;
  sqlite3_file* file = nullptr;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_FILE_POINTER,
                       static_cast<void*>(&file));
  std::array<char, 2> versions = {};
  if (file == nullptr || file->pMethods == nullptr ||
      file->pMethods->xRead(file, versions.data(), versions.size(),
                            kVersionsAt) != SQLITE_OK ||
      versions.back() != kLogVersion) {
    return;
  }
  throw Unsupported(
      "{}: has a write-ahead log, which foretell does not read; remove it with "
      "PRAGMA journal_mode=DELETE in sqlite3",
      path_);
}

void Connection::Configure(Access access) {
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, kBusyTimeoutMs);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kMaxCellBytes);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  if (RegisterRowChecksum(handle_) != SQLITE_OK) {
    throw InternalFailure("{}: row_crc cannot be registered", path_);
  }
  for (const char* pragma : kPragmas) All(pragma);
  if (access == Access::kRead) All("PRAGMA query_only=ON");
}

void Connection::Fail(int status, const std::string& what) const {
  throw Error(CodeOf(status),
              fmt::format("{}: {}: {} ({})", path_, what,
                          sqlite3_errmsg(handle_), sqlite3_errstr(status)));
}

sqlite3_stmt* Connection::Prepare(const std::string& sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return found->second;
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v3(
      handle_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (status != SQLITE_OK) Fail(status, fmt::format("'{}'", sql));
  statements_.emplace(sql, statement);
  return statement;
}

void Connection::BindAll(sqlite3_stmt* statement, const Row& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const int status = BindCell(statement, static_cast<int>(i) + 1, cells[i]);
    if (status != SQLITE_OK) Fail(status, "binding a value");
  }
}

void Connection::Run(const std::string& sql, const Row& cells) {
  Query(sql, cells, [](const Row&) {});
}

void Connection::Query(const std::string& sql, const Row& cells,
                       const std::function<void(const Row&)>& use) {
  sqlite3_stmt* statement = Prepare(sql);
  const ResetScope reset(statement);
  BindAll(statement, cells);
  Row row(static_cast<std::size_t>(sqlite3_column_count(statement)));
  while (true) {
    const int status = sqlite3_step(statement);
    if (status == SQLITE_DONE) return;
    if (status != SQLITE_ROW) {
      Fail(status, fmt::format("'{}'", sql.substr(0, 60)));
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = ColumnCell(statement, static_cast<int>(i));
    }
    use(row);
  }
}

std::vector<Row> Connection::All(const std::string& sql, const Row& cells) {
  std::vector<Row> rows;
  Query(sql, cells, [&rows](const Row& row) { rows.push_back(row); });
  return rows;
}

std::int64_t Connection::Integer(const std::string& sql, const Row& cells) {
  const std::vector<Row> rows = All(sql, cells);
  if (rows.size() != 1 || rows[0].size() != 1) {
    throw Corrupt("{}: '{}' does not return one integer", path_, sql);
  }
  return dataset::Integer(rows[0][0]);
}

void Connection::LimitWork() {
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path_, unknown);
  const auto bytes = static_cast<std::int64_t>(unknown ? 0 : size);
  const auto cell = std::clamp<std::int64_t>(bytes, kMiB, kMaxCellBytes);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, static_cast<int>(cell));
  steps_left_ = bytes * kStepsPerByte;
  sqlite3_progress_handler(handle_, kStepsAtOnce, &CountSteps, this);
}

int Connection::CountSteps(void* connection) {
  auto& left = static_cast<Connection*>(connection)->steps_left_;
  left -= kStepsAtOnce;
  return left < 0 ? 1 : 0;
}

bool Connection::InTransaction() const {
  return sqlite3_get_autocommit(handle_) == 0;
}

Transaction::Transaction(Connection& connection)
    : connection_(connection.InTransaction() ? nullptr : &connection) {
  if (connection_ != nullptr) connection_->Run("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (connection_ == nullptr || !connection_->InTransaction()) return;
  try {
    connection_->Run("ROLLBACK");
  } catch (const Error&) {
    // The journal stays and is rolled back when the file is opened next.
  }
}

void Transaction::Commit() {
  if (connection_ == nullptr) return;
  connection_->Run("COMMIT");
  connection_ = nullptr;
}

}  // namespace foretell::dataset
