#include "datasets/store/schema.h"

#include <fmt/core.h>

#include <algorithm>

#include "foretell/features.h"
#include "foretell/version.h"

#include "datasets/store/rows.h"
#include "src/core/clock.h"
#include "src/core/failure.h"

namespace foretell::dataset {
namespace {

/// The version before kRunGraphs.
constexpr std::int64_t kWithoutRunGraphs = 1;

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

void SetVersion(Connection& connection) {
  connection.Run(fmt::format("PRAGMA user_version={}", kSchemaVersion));
}

void CreateTables(Connection& connection) {
  for (const std::string& sql : SchemaSql()) connection.Run(sql);
  const std::pair<const char*, std::string> metadata[] = {
      {"created_at", NowUtc()},
      {"created_by", fmt::format("foretell {}", kVersion)},
      {"feature_version", fmt::format("{}", kFeatureVersion)},
  };
  for (const auto& [key, value] : metadata) {
    InsertRow(connection, kMetadata, {std::string(key), value});
  }
  connection.Run(fmt::format("PRAGMA application_id={}", kApplicationId));
  SetVersion(connection);
}

/// Does nothing if another process has done it since the version was read.
void AddRunGraphs(Connection& connection) {
  Transaction transaction(connection);
  if (connection.Integer("PRAGMA user_version") == kWithoutRunGraphs) {
    connection.Run(CreateSql(kRunGraphs));
    SetVersion(connection);
  }
  transaction.Commit();
}

bool IsEmpty(Connection& connection) {
  return connection.Integer("SELECT count(*) FROM sqlite_schema") == 0 &&
         connection.Integer("PRAGMA user_version") == 0;
}

/// Views, triggers, virtual tables, computed columns, defaults and conditions
/// would run what the file's author wrote whenever we read or write. SQLite
/// stores no statement for an index that belongs to a constraint.
void RefuseForeign(Connection& connection) {
  const std::vector<std::string> ours = SchemaSql();
  for (const Row& row : connection.All(
           "SELECT type, name, sql FROM sqlite_schema WHERE sql NOT NULL")) {
    if (std::ranges::find(ours, Text(row.at(2))) != ours.end()) continue;
    throw Corrupt("{}: has a {} '{}' that is not part of a dataset",
                  connection.path(), Text(row.at(0)), Text(row.at(1)));
  }
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

std::vector<std::string> SchemaSql() {
  std::vector<std::string> statements;
  for (const Table* table : kTables) {
    statements.push_back(CreateSql(*table));
    if (!table->index.empty()) statements.emplace_back(table->index);
  }
  return statements;
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
    throw Corrupt(
        "{}: not a dataset (the application id in its header differs)",
        connection.path());
  }
  const std::int64_t version = connection.Integer("PRAGMA user_version");
  if (version != kSchemaVersion && version != kWithoutRunGraphs) {
    throw Unsupported("{}: schema version {}, this foretell reads {}",
                      connection.path(), version, kSchemaVersion);
  }
  RefuseForeign(connection);
  if (version == kWithoutRunGraphs && access != Access::kRead) {
    AddRunGraphs(connection);
  }
}

bool HasTable(Connection& connection, const Table& table) {
  return &table != &kRunGraphs ||
         connection.Integer("PRAGMA user_version") != kWithoutRunGraphs;
}

const Cell& CellOf(const Table& table, const Row& row, std::string_view name) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].name == name) return row.at(i + 1);
  }
  throw InternalFailure("table '{}' has no column '{}'", table.name, name);
}

}  // namespace foretell::dataset
