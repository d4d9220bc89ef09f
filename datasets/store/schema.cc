#include "datasets/store/schema.h"

#include "foretell/error.h"
#include "foretell/features.h"
#include "foretell/version.h"

#include "datasets/store/rows.h"
#include "src/core/clock.h"

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
    parameters += ", ?" + std::to_string(i + 2);
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
      {"created_by", std::string("foretell ") + kVersion},
      {"feature_version", std::to_string(kFeatureVersion)},
  };
  for (const auto& [key, value] : metadata) {
    InsertRow(connection, kMetadata, {std::string(key), value});
  }
  connection.Run("PRAGMA application_id=" + std::to_string(kApplicationId));
  connection.Run("PRAGMA user_version=" + std::to_string(kSchemaVersion));
}

bool IsEmpty(Connection& connection) {
  return connection.Integer("SELECT count(*) FROM sqlite_schema") == 0 &&
         connection.Integer("PRAGMA user_version") == 0;
}

}  // namespace

std::string CreateSql(const Table& table) {
  std::string sql =
      "CREATE TABLE " + Str(table.name) + " (id INTEGER PRIMARY KEY";
  for (const Column& column : table.columns) {
    sql += ", " + Str(column.name) + " " + Str(column.type);
  }
  return sql + ", crc INTEGER NOT NULL" + Str(table.constraints) + ") STRICT";
}

std::string InsertSql(const Table& table) {
  return "INSERT INTO " + Str(table.name) + " (" + ColumnNames(table) +
         ", crc) VALUES (" + Parameters(table) + ", row_crc(" +
         Parameters(table) + "))";
}

std::string UpdateSql(const Table& table) {
  return "UPDATE " + Str(table.name) + " SET (" + ColumnNames(table) +
         ", crc) = (" + Parameters(table) + ", row_crc(" + Parameters(table) +
         ")) WHERE id = ?1";
}

std::string SelectSql(const Table& table, std::string_view rest) {
  const std::string names = ColumnNames(table);
  return "SELECT " + names + ", crc IS row_crc(" + names + ") FROM " +
         Str(table.name) + " " + Str(rest);
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
                connection.path() + ": schema version " +
                    std::to_string(version) + ", this foretell reads " +
                    std::to_string(kSchemaVersion));
  }
}

const Cell& CellOf(const Table& table, const Row& row, std::string_view name) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].name == name) return row.at(i + 1);
  }
  throw Error(ErrorCode::kInternal, "table '" + Str(table.name) +
                                        "' has no column '" + Str(name) + "'");
}

}  // namespace foretell::dataset
