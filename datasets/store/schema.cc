#include "datasets/store/schema.h"

#include <fmt/core.h>

#include <vector>

#include "foretell/error.h"
#include "foretell/features.h"
#include "foretell/version.h"

#include "datasets/store/rows.h"
#include "src/core/clock.h"
#include "src/core/printable.h"

namespace foretell::dataset {
namespace {

/// "id, a, b".
std::string ColumnNames(const Table& table) {
  std::string names = "id";
  for (const Column& column : table.columns)
    names.append(", ").append(column.name);
  return names;
}

/// "?1, ?2, ?3".
std::string Parameters(const Table& table) {
  std::string parameters = "?1";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    parameters += fmt::format(", ?{}", i + 2);
  }
  return parameters;
}

std::string Str(std::string_view text) { return std::string(text); }

void CreateTables(Connection& connection) {
  for (const Table* table : kTables) {
    connection.Run(CreateSql(*table));
    if (!table->index.empty()) connection.Run(Str(table->index));
  }
  const std::pair<const char*, std::string> metadata[] = {
      {"created_at", NowUtc()},
      {"created_by", fmt::format("foretell {}", kVersion)},
      {"feature_version", fmt::format("{}", kFeatureVersion)},
  };
  for (const auto& [key, value] : metadata) {
    InsertRow(connection, kMetadata, {std::string(key), value});
  }
  connection.Run(fmt::format("PRAGMA application_id={}", kApplicationId));
  connection.Run(fmt::format("PRAGMA user_version={}", kSchemaVersion));
}

bool IsEmpty(Connection& connection) {
  return connection.Integer("SELECT count(*) FROM sqlite_schema") == 0 &&
         connection.Integer("PRAGMA user_version") == 0;
}

/// A view, a trigger or a virtual table in the place of a table would run what
/// the file's author wrote whenever we read or write.
void RefuseCode(Connection& connection) {
  const std::vector<Row> rows = connection.All(
      "SELECT type, name FROM sqlite_schema WHERE type NOT IN ('table', "
      "'index') OR sql LIKE 'CREATE VIRTUAL%' LIMIT 1");
  if (rows.empty()) return;
  throw Error(
      ErrorCode::kCorrupt,
      fmt::format("{}: has a {} '{}', expected only tables and indexes",
                  connection.path(), Printable(Text(rows.front().at(0))),
                  Printable(Text(rows.front().at(1)))));
}

}  // namespace

std::string CreateSql(const Table& table) {
  std::string sql =
      fmt::format("CREATE TABLE {} (id INTEGER PRIMARY KEY", table.name);
  for (const Column& column : table.columns) {
    sql += fmt::format(", {} {}", column.name, column.type);
  }
  return fmt::format("{}, crc INTEGER NOT NULL{}) STRICT", sql,
                     table.constraints);
}

std::string InsertSql(const Table& table) {
  return fmt::format("INSERT INTO {} ({}, crc) VALUES ({}, row_crc({}))",
                     table.name, ColumnNames(table), Parameters(table),
                     Parameters(table));
}

std::string UpdateSql(const Table& table) {
  return fmt::format(
      "UPDATE {} SET ({}, crc) = ({}, row_crc({})) WHERE id = ?1", table.name,
      ColumnNames(table), Parameters(table), Parameters(table));
}

std::string SelectSql(const Table& table, std::string_view rest) {
  const std::string names = ColumnNames(table);
  return fmt::format("SELECT {}, crc IS row_crc({}) FROM {} {}", names, names,
                     table.name, rest);
}

void CreateOrCheckSchema(Connection& connection, Access access) {
  if (access == Access::kCreate) {
    Transaction transaction(connection);
    if (IsEmpty(connection)) CreateTables(connection);
    transaction.Commit();
  }
  if (connection.Integer("PRAGMA application_id") != kApplicationId) {
    throw Error(ErrorCode::kCorrupt,
                connection.path() +
                    ": not a dataset (the application id in its header "
                    "differs)");
  }
  const std::int64_t version = connection.Integer("PRAGMA user_version");
  if (version != kSchemaVersion) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: schema version {}, this foretell reads {}",
                            connection.path(), version, kSchemaVersion));
  }
  RefuseCode(connection);
}

const Cell& CellOf(const Table& table, const Row& row, std::string_view name) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].name == name) return row.at(i + 1);
  }
  throw Error(ErrorCode::kInternal,
              fmt::format("table '{}' has no column '{}'", table.name, name));
}

}  // namespace foretell::dataset
