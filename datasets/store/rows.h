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

/// Hands every row that can be trusted to `use` and every other to `damaged`,
/// going on behind parts of the file that cannot be read at all, up to 10,000.
void ForEachGoodRow(Connection& connection, const Table& table,
                    const std::function<void(const Row&)>& use,
                    const std::function<void(const Damage&)>& damaged);

/// Error(kCorrupt) for a row: path, table, row, and what is wrong with it.
Error CorruptRow(const Connection& connection, std::string_view table,
                 RowId row, const std::string& what);

/// What `error` says of a row, of the table where `row` is 0, without the path
/// and the row where it begins with them: ToString puts the row before it, and
/// who shows it the path.
Damage DamageOf(const std::string& path, std::string_view table, RowId row,
                const Error& error);

/// What is wrong with a figure of `label`: "latency_ms is inf, expected …".
std::optional<std::string> ValueProblem(const Label& label);

/// @name Structs from and to rows
/// Rows are those of SelectSql, so [id, columns…]; what is written has no id.
/// Unknown enumerators and figures that none can be
/// throw Error(kCorrupt).
/// @{
Row PointColumns(const StoredPoint& point);
StoredPoint PointOf(const Connection& connection, const Row& row);
GraphSummary SummaryOf(const Row& row);
/// The setting is a row number of the table `environments`, its JSON in the
/// struct.
Row LabelColumns(const Label& label, RowId environment);
Label LabelOf(const Connection& connection, const Row& row,
              const std::string& setting);
/// @}

}  // namespace foretell::dataset
