#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "datasets/store/schema.h"
#include "datasets/store/sqlite.h"
#include "foretell/dataset.h"
#include "foretell/error.h"

namespace foretell::dataset {

/// Adds a row with `columns` as its cells; returns its id.
RowId InsertRow(Connection& connection, const Table& table, Row columns);
/// Replaces the cells of the row `id`.
void UpdateRow(Connection& connection, const Table& table, RowId id,
               Row columns);

/// Hands each row of `SelectSql(table, rest)` to `use` as [id, columns…].
/// Throws Error(kCorrupt) with path, table and row when a checksum fails.
void ForEachRow(Connection& connection, const Table& table,
                std::string_view rest, const Row& cells,
                const std::function<void(const Row&)>& use);

/// Passes every intact row to `use` and every other row to `damaged`; skips
/// unreadable parts of the file, up to 10,000 of them.
void ForEachGoodRow(Connection& connection, const Table& table,
                    const std::function<void(const Row&)>& use,
                    const std::function<void(const Damage&)>& damaged);

/// Error(kCorrupt) for a row: path, table, row, and what is wrong with it.
Error CorruptRow(const Connection& connection, std::string_view table,
                 RowId row, const std::string& what);

/// What `error` reports about a row (0: about the table), without the path and
/// the row if the message begins with them: ToString adds the row again, and
/// the caller that shows it adds the path.
Damage DamageOf(const std::string& path, std::string_view table, RowId row,
                const Error& error);

/// Describes an invalid figure of `label`: "latency_ms is inf, expected …".
std::optional<std::string> ValueProblem(const Label& label);

/// @name Structs from and to rows Rows are those of SelectSql, so [id,
/// columns…]; what is written has no id. Unknown enumerators and invalid
/// figures throw Error(kCorrupt). @{
Row PointColumns(const StoredPoint& point);
StoredPoint PointOf(const Connection& connection, const Row& row);
GraphSummary SummaryOf(const Row& row);
Row RunGraphColumns(const RunGraph& graph);
RunGraph RunGraphOf(const Row& row);
/// The setting is a row number of the table `environments`; the struct has its
/// JSON.
Row LabelColumns(const Label& label, RowId environment);
Label LabelOf(const Connection& connection, const Row& row,
              const std::string& setting);
/// @}

}  // namespace foretell::dataset
