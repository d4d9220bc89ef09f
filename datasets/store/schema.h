#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/store/sqlite.h"

namespace foretell::dataset {

/// "FTDS" in the file's header distinguishes datasets from other SQLite files.
inline constexpr std::int64_t kApplicationId = 0x46544453;
/// Version of the tables, in the file's header. Files of version 1 have no
/// `run_graphs`; they are read as if it were empty, and get it when they are
/// opened for writing.
inline constexpr std::int64_t kSchemaVersion = 2;

struct Column {
  std::string_view name;
  std::string_view type;  ///< With its constraints.
};

/// A table. Before `columns` it has `id INTEGER PRIMARY KEY`, and after them
/// `crc INTEGER NOT NULL`, the row_crc of all others.
struct Table {
  std::string_view name;
  std::span<const Column> columns;
  std::string_view constraints;  ///< Starts with a comma; or empty.
  std::string_view index;        ///< CREATE INDEX …; or empty.
};

inline constexpr Column kMetadataColumns[] = {
    {"key", "TEXT NOT NULL UNIQUE"},
    {"value", "TEXT NOT NULL"},
};
inline constexpr Column kBlobColumns[] = {
    {"kind", "TEXT NOT NULL CHECK (kind IN ('nodes', 'edges', 'text'))"},
    {"hash", "INTEGER NOT NULL"},
    {"raw_bytes", "INTEGER NOT NULL CHECK (raw_bytes >= 0)"},
    {"data", "BLOB NOT NULL"},
};
inline constexpr Column kGraphColumns[] = {
    {"nodes", "INTEGER NOT NULL REFERENCES blobs (id)"},
    {"edges", "INTEGER NOT NULL REFERENCES blobs (id)"},
    {"text", "INTEGER NOT NULL REFERENCES blobs (id)"},
    {"num_nodes", "INTEGER NOT NULL CHECK (num_nodes >= 0)"},
    {"num_edges", "INTEGER NOT NULL CHECK (num_edges >= 0)"},
    {"parameters", "INTEGER NOT NULL"},
    {"macs", "INTEGER NOT NULL"},
    {"batch", "INTEGER NOT NULL"},
    {"convolutions", "INTEGER NOT NULL"},
    {"dense", "INTEGER NOT NULL"},
    {"relus", "INTEGER NOT NULL"},
};
inline constexpr Column kPointColumns[] = {
    {"model", "TEXT NOT NULL"},
    {"family", "TEXT NOT NULL"},
    {"format", "TEXT NOT NULL"},
    {"path", "TEXT NOT NULL"},
    {"batch", "INTEGER NOT NULL CHECK (batch > 0)"},
    {"mode", "TEXT NOT NULL"},
    {"precision", "TEXT NOT NULL"},
    {"optimizer", "TEXT NOT NULL"},
    {"inputs", "TEXT NOT NULL"},
    {"image_size", "INTEGER"},
    {"status",
     "TEXT NOT NULL CHECK (status IN ('traced', 'failed', 'untraced'))"},
    {"graph", "INTEGER REFERENCES graphs (id)"},
    {"attempts", "INTEGER NOT NULL"},
    {"reason", "TEXT NOT NULL"},
    {"warnings", "TEXT NOT NULL"},
};
inline constexpr Column kRunGraphColumns[] = {
    {"point", "INTEGER NOT NULL REFERENCES points (id)"},
    {"run", "TEXT NOT NULL"},
    {"graph", "INTEGER REFERENCES graphs (id)"},
    {"attempts", "INTEGER NOT NULL"},
    {"reason", "TEXT NOT NULL"},
    {"warnings", "TEXT NOT NULL"},
};
inline constexpr Column kEnvironmentColumns[] = {
    {"hash", "INTEGER NOT NULL"},
    {"json", "TEXT NOT NULL UNIQUE"},
};
inline constexpr Column kLabelColumns[] = {
    {"point", "INTEGER NOT NULL REFERENCES points (id)"},
    {"device", "TEXT NOT NULL"},
    {"environment", "INTEGER NOT NULL REFERENCES environments (id)"},
    {"source", "TEXT NOT NULL"},
    {"provenance",
     "TEXT NOT NULL CHECK (provenance IN "
     "('measured', 'simulated', 'imported'))"},
    {"status",
     "TEXT NOT NULL CHECK (status IN ('ok', 'out_of_memory', 'failed'))"},
    {"memory_mib", "REAL"},
    {"allocated_mib", "REAL"},
    {"reserved_mib", "REAL"},
    {"latency_ms", "REAL"},
    {"energy_j", "REAL"},
    {"details", "TEXT NOT NULL"},
    {"measured_at", "TEXT NOT NULL"},
    {"attempts", "INTEGER NOT NULL"},
    {"reason", "TEXT NOT NULL"},
};
inline constexpr Column kSplitColumns[] = {
    {"name", "TEXT NOT NULL UNIQUE"},
    {"kind", "TEXT NOT NULL"},
    {"seed", "INTEGER NOT NULL"},
};
inline constexpr Column kSplitPointColumns[] = {
    {"split", "INTEGER NOT NULL REFERENCES splits (id)"},
    {"point", "INTEGER NOT NULL REFERENCES points (id)"},
    {"part", "TEXT NOT NULL"},
};

inline constexpr Table kMetadata = {"metadata", kMetadataColumns, "", ""};
inline constexpr Table kBlobs = {"blobs", kBlobColumns, "",
                                 "CREATE INDEX blobs_by_hash ON blobs (hash)"};
inline constexpr Table kGraphs = {"graphs", kGraphColumns,
                                  ", UNIQUE (nodes, edges, text)", ""};
inline constexpr Table kPoints = {
    "points", kPointColumns,
    ", UNIQUE (model, batch, mode, precision, optimizer)", ""};
inline constexpr Table kRunGraphs = {"run_graphs", kRunGraphColumns,
                                     ", UNIQUE (point, run)", ""};
inline constexpr Table kEnvironments = {"environments", kEnvironmentColumns, "",
                                        ""};
inline constexpr Table kLabels = {
    "labels", kLabelColumns, ", UNIQUE (point, device, environment, source)",
    ""};
inline constexpr Table kSplits = {"splits", kSplitColumns, "", ""};
inline constexpr Table kSplitPoints = {"split_points", kSplitPointColumns,
                                       ", UNIQUE (split, point)", ""};

/// All tables, each after the tables that it refers to.
inline constexpr const Table* kTables[] = {
    &kMetadata,     &kBlobs,  &kGraphs, &kPoints,      &kRunGraphs,
    &kEnvironments, &kLabels, &kSplits, &kSplitPoints,
};

/// The statement that makes `table`.
std::string CreateSql(const Table& table);
/// The statements that make all tables and indexes: a dataset holds no others.
std::vector<std::string> SchemaSql();
/// Statement that inserts a row with ?1 as its id and ?2, … as `columns`.
std::string InsertSql(const Table& table);
/// Statement that replaces all columns of the row ?1.
std::string UpdateSql(const Table& table);
/// id, `columns`, and 1 or 0: whether the checksum holds; `rest` may add
/// WHERE and ORDER BY.
std::string SelectSql(const Table& table, std::string_view rest);

/// Makes all tables in an empty file; otherwise checks the file's header and
/// that every statement of its schema is one of SchemaSql; brings a file of
/// version 1 up to date unless it is only read. Throws Error(kCorrupt) for a
/// file that is not a dataset and Error(kUnsupported) with both numbers for
/// another version.
void CreateOrCheckSchema(Connection& connection, Access access);

/// False for kRunGraphs in a file of version 1.
bool HasTable(Connection& connection, const Table& table);

/// The column `name` of a row that SelectSql gave (id is in front).
const Cell& CellOf(const Table& table, const Row& row, std::string_view name);

}  // namespace foretell::dataset
