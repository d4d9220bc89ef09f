#include "datasets/store/rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "src/core/failure.h"
#include "src/core/printable.h"

namespace foretell::dataset {
namespace {

constexpr char kBadChecksum[] = "the checksum does not match";
/// Most rows that are skipped at once after an unreadable part.
constexpr RowId kMaxSkip = 4096;
constexpr RowId kLastRow = std::numeric_limits<RowId>::max();
/// Number of unreadable places after which a table is given up.
constexpr int kMostGaps = 10'000;

Row WithId(RowId id, Row columns) {
  Row row;
  row.reserve(columns.size() + 1);
  row.emplace_back(id);
  for (Cell& cell : columns) row.push_back(std::move(cell));
  return row;
}

RowId IdOf(const Row& row) { return Integer(row.front()); }

/// Whether SelectSql's last cell states that the checksum holds; drops it.
bool TakeChecksum(Row& row) {
  const bool good = Integer(row.back()) == 1;
  row.pop_back();
  return good;
}

std::optional<double> OptionalReal(const Cell& cell) {
  if (IsNull(cell)) return std::nullopt;
  return Real(cell);
}

Cell ToCell(std::optional<double> value) {
  return value ? Cell(*value) : Cell(std::monostate());
}

Cell ToCell(std::string_view text) { return std::string(text); }

template <typename T>
const T& Known(const std::optional<T>& value, const Connection& connection,
               std::string_view table, const Row& row,
               const std::string& word) {
  if (value) return *value;
  throw CorruptRow(connection, table, IdOf(row),
                   fmt::format("unknown word '{}'", word));
}

template <typename Enum, std::size_t N>
std::optional<Enum> Parse(const std::array<Enum, N>& values,
                          std::string_view (*name)(Enum),
                          std::string_view word) {
  const auto found = std::ranges::find(values, word, name);
  if (found == values.end()) return std::nullopt;
  return *found;
}

constexpr std::array kPointStatuses = {
    PointStatus::kTraced, PointStatus::kFailed, PointStatus::kUntraced};
constexpr std::array kLabelStatuses = {
    LabelStatus::kOk, LabelStatus::kOutOfMemory, LabelStatus::kFailed};

/// Reads the rows starting at `next`; throws at one that cannot be read.
void ReadFrom(Connection& connection, const Table& table, RowId& next,
              const std::function<void(const Row&)>& use,
              const std::function<void(const Damage&)>& damaged) {
  connection.Query(SelectSql(table, "WHERE id >= ?1 ORDER BY id"), {next},
                   [&](const Row& selected) {
                     Row row = selected;
                     const RowId id = IdOf(row);
                     if (TakeChecksum(row)) {
                       use(row);
                     } else {
                       damaged({std::string(table.name), id, kBadChecksum});
                     }
                     next = id < kLastRow ? id + 1 : id;
                   });
}

/// An upper bound of a table's ids, even if the table cannot be read.
RowId LastId(Connection& connection, const Table& table) {
  try {
    return connection.Integer(
        fmt::format("SELECT coalesce(max(id), 0) FROM {}", table.name));
  } catch (const Error&) {
    return RowId{1} << 24;
  }
}

}  // namespace

RowId InsertRow(Connection& connection, const Table& table, Row columns) {
  Transaction transaction(connection);
  const RowId id = 1 + connection.Integer(fmt::format(
                           "SELECT coalesce(max(id), 0) FROM {}", table.name));
  connection.Run(InsertSql(table), WithId(id, std::move(columns)));
  transaction.Commit();
  return id;
}

void UpdateRow(Connection& connection, const Table& table, RowId id,
               Row columns) {
  connection.Run(UpdateSql(table), WithId(id, std::move(columns)));
}

void ForEachRow(Connection& connection, const Table& table,
                std::string_view rest, const Row& cells,
                const std::function<void(const Row&)>& use) {
  connection.Query(SelectSql(table, rest), cells, [&](const Row& selected) {
    Row row = selected;
    if (!TakeChecksum(row)) {
      throw CorruptRow(connection, table.name, IdOf(row), kBadChecksum);
    }
    use(row);
  });
}

void ForEachGoodRow(Connection& connection, const Table& table,
                    const std::function<void(const Row&)>& use,
                    const std::function<void(const Damage&)>& damaged) {
  const RowId last = LastId(connection, table);
  RowId next = 1;
  RowId skip = 1;
  for (int gaps = 0; gaps < kMostGaps; ++gaps) {
    const RowId before = next;
    try {
      ReadFrom(connection, table, next, use, damaged);
      return;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCorrupt) throw;
      damaged(DamageOf(connection.path(), table.name, next, error));
    }
    skip = next == before ? std::min(skip * 2, kMaxSkip) : 1;
    if (next > last - skip) return;
    next += skip;
  }
}

Error CorruptRow(const Connection& connection, std::string_view table,
                 RowId row, const std::string& what) {
  return Corrupt("{}: {}", connection.path(),
                 ToString(Damage{std::string(table), row, what}));
}

Damage DamageOf(const std::string& path, std::string_view table, RowId row,
                const Error& error) {
  std::string_view what = error.what();
  const auto drop = [&what](const std::string& prefix) {
    if (what.starts_with(prefix)) what.remove_prefix(prefix.size());
  };
  drop(Printable(path) + ": ");
  drop(ToString(Damage{std::string(table), row, ""}));
  return {std::string(table), row, std::string(what)};
}

Row PointColumns(const StoredPoint& stored) {
  const Point& point = stored.point;
  return {point.model,
          point.family,
          point.format,
          point.path,
          point.batch,
          ToCell(ModeName(point.mode)),
          ToCell(PrecisionName(point.precision)),
          point.optimizer,
          point.inputs,
          point.image_size ? Cell(*point.image_size) : Cell(std::monostate()),
          ToCell(PointStatusName(stored.status)),
          stored.graph != 0 ? Cell(stored.graph) : Cell(std::monostate()),
          stored.attempts,
          stored.reason,
          stored.warnings};
}

StoredPoint PointOf(const Connection& connection, const Row& row) {
  const auto cell = [&row](std::string_view name) -> const Cell& {
    return CellOf(kPoints, row, name);
  };
  const auto known = [&](const auto& value, std::string_view name) {
    return Known(value, connection, kPoints.name, row, Text(cell(name)));
  };
  StoredPoint stored{.id = IdOf(row)};
  Point& point = stored.point;
  point.model = Text(cell("model"));
  point.family = Text(cell("family"));
  point.format = Text(cell("format"));
  point.path = Text(cell("path"));
  point.batch = Integer(cell("batch"));
  point.mode = known(ParseMode(Text(cell("mode"))), "mode");
  point.precision = known(ParsePrecision(Text(cell("precision"))), "precision");
  point.optimizer = Text(cell("optimizer"));
  point.inputs = Text(cell("inputs"));
  const Cell& image_size = cell("image_size");
  if (!IsNull(image_size)) {
    point.image_size = Integer(image_size);
  }
  stored.status = known(
      Parse(kPointStatuses, &PointStatusName, Text(cell("status"))), "status");
  const Cell& graph = cell("graph");
  if (!IsNull(graph)) stored.graph = Integer(graph);
  stored.attempts = Integer(cell("attempts"));
  stored.reason = Text(cell("reason"));
  stored.warnings = Text(cell("warnings"));
  return stored;
}

GraphSummary SummaryOf(const Row& row) {
  const auto number = [&row](std::string_view name) {
    return Integer(CellOf(kGraphs, row, name));
  };
  return {.id = IdOf(row),
          .num_nodes = number("num_nodes"),
          .num_edges = number("num_edges"),
          .parameters = number("parameters"),
          .statics = {.macs = number("macs"),
                      .batch = number("batch"),
                      .convolutions = number("convolutions"),
                      .dense = number("dense"),
                      .relus = number("relus")}};
}

Row RunGraphColumns(const RunGraph& traced) {
  return {traced.point,
          traced.run,
          traced.graph != 0 ? Cell(traced.graph) : Cell(std::monostate()),
          traced.attempts,
          traced.reason,
          traced.warnings};
}

RunGraph RunGraphOf(const Row& row) {
  const auto cell = [&row](std::string_view name) -> const Cell& {
    return CellOf(kRunGraphs, row, name);
  };
  const Cell& graph = cell("graph");
  return {.id = IdOf(row),
          .point = Integer(cell("point")),
          .run = Text(cell("run")),
          .graph = IsNull(graph) ? 0 : Integer(graph),
          .attempts = Integer(cell("attempts")),
          .reason = Text(cell("reason")),
          .warnings = Text(cell("warnings"))};
}

Row LabelColumns(const Label& label, RowId environment) {
  Row columns = {label.point,
                 label.device,
                 environment,
                 label.source,
                 ToCell(ProvenanceName(label.provenance)),
                 ToCell(LabelStatusName(label.status))};
  for (const LabelQuantity& quantity : LabelQuantities()) {
    columns.push_back(ToCell(label.*quantity.value));
  }
  columns.insert(columns.end(), {label.details, label.measured_at,
                                 label.attempts, label.reason});
  return columns;
}

std::optional<std::string> ValueProblem(const Label& label) {
  for (const LabelQuantity& quantity : LabelQuantities()) {
    const std::optional<double> value = label.*quantity.value;
    if (!value || (std::isfinite(*value) && *value >= 0)) continue;
    return fmt::format("{} is {:f}, expected a finite number >= 0",
                       quantity.name, *value);
  }
  return std::nullopt;
}

Label LabelOf(const Connection& connection, const Row& row,
              const std::string& setting) {
  const auto cell = [&row](std::string_view name) -> const Cell& {
    return CellOf(kLabels, row, name);
  };
  const auto known = [&](const auto& value, std::string_view name) {
    return Known(value, connection, kLabels.name, row, Text(cell(name)));
  };
  Label label{.point = Integer(cell("point")),
              .device = Text(cell("device")),
              .setting = setting,
              .source = Text(cell("source"))};
  label.provenance =
      known(ParseProvenance(Text(cell("provenance"))), "provenance");
  label.status = known(
      Parse(kLabelStatuses, &LabelStatusName, Text(cell("status"))), "status");
  for (const LabelQuantity& quantity : LabelQuantities()) {
    label.*quantity.value = OptionalReal(cell(quantity.name));
  }
  if (const auto problem = ValueProblem(label)) {
    throw CorruptRow(connection, kLabels.name, IdOf(row), *problem);
  }
  label.details = Text(cell("details"));
  label.measured_at = Text(cell("measured_at"));
  label.attempts = Integer(cell("attempts"));
  label.reason = Text(cell("reason"));
  return label;
}

}  // namespace foretell::dataset
