#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace foretell::dataset {

/// A BLOB, as a type distinct from TEXT.
struct Blob {
  std::string bytes;
  bool operator==(const Blob&) const = default;
};

/// One value of SQLite: NULL, INTEGER, REAL, TEXT or BLOB.
using Cell =
    std::variant<std::monostate, std::int64_t, double, std::string, Blob>;
using Row = std::vector<Cell>;

/// The value of `cell`. Throws Error(kCorrupt) if it has another type, since
/// cells that do not match their columns mean a damaged file.
std::int64_t Integer(const Cell& cell);
double Real(const Cell& cell);
const std::string& Text(const Cell& cell);
const std::string& Bytes(const Cell& cell);
inline bool IsNull(const Cell& cell) {
  return std::holds_alternative<std::monostate>(cell);
}

/// What a connection is opened for.
enum class Access {
  kRead,    ///< The file must exist and is not changed.
  kWrite,   ///< The file must exist.
  kCreate,  ///< The file is created if missing.
};

/// A connection to one SQLite file, with the pragmas that docs/dataset.md
/// gives, and the SQL function `row_crc` (checksum.h).
///
/// Not to be used by two threads at once, nor after a fork in the child. Every
/// method throws Error that starts with the path: kNotFound for a missing file,
/// kCorrupt for a damaged one, kIo if the disk is full, the file is locked for
/// longer than a minute, or a read or write fails.
class Connection {
 public:
  Connection(const std::string& path, Access access);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const std::string& path() const { return path_; }

  /// Runs one statement without a result; parameters ?1, ?2, … are `cells`.
  void Run(const std::string& sql, const Row& cells = {});
  /// Hands each row of a query to `use`, which may run other statements, but
  /// not the same one.
  void Query(const std::string& sql, const Row& cells,
             const std::function<void(const Row&)>& use);
  /// All rows of a query.
  std::vector<Row> All(const std::string& sql, const Row& cells = {});
  /// The only integer of a query's only row.
  std::int64_t Integer(const std::string& sql, const Row& cells = {});

  /// Protects against a file whose pages were not checked and may form cycles:
  /// limits the total steps of all further statements by the file's size, and
  /// the length of a cell to that of the file. Throws Error(kCorrupt) beyond
  /// that.
  void LimitWork();

  /// True between BEGIN and COMMIT.
  bool InTransaction() const;

 private:
  static int CountSteps(void* connection);
  sqlite3_stmt* Prepare(const std::string& sql);
  void BindAll(sqlite3_stmt* statement, const Row& cells);
  void RefuseLog();
  void Configure(Access access);
  [[noreturn]] void Fail(int status, const std::string& what) const;

  std::string path_;
  sqlite3* handle_ = nullptr;
  std::int64_t steps_left_ = 0;  ///< Set by LimitWork.
  std::unordered_map<std::string, sqlite3_stmt*> statements_;
};

/// BEGIN IMMEDIATE, so that two writers queue up instead of failing halfway;
/// rolled back unless committed. A nested one does nothing: the outer one
/// commits or rolls back.
class Transaction {
 public:
  explicit Transaction(Connection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void Commit();

 private:
  Connection* connection_;  ///< nullptr once done, or when nested.
};

}  // namespace foretell::dataset
