#include "datasets/store/store.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "datasets/store/checksum.h"
#include "datasets/store/rows.h"
#include "foretell/error.h"
#include "src/core/failure.h"
#include "src/core/parse_json.h"

namespace foretell {

using dataset::Blob;
using dataset::Bytes;
using dataset::CellOf;
using dataset::Integer;
using dataset::Row;
using dataset::Text;
using dataset::Transaction;

namespace {

Row KeyCells(const Point& point) {
  return {point.model, point.batch, std::string(ModeName(point.mode)),
          std::string(PrecisionName(point.precision)), point.optimizer};
}

/// `text` as a JSON object with sorted keys and no blanks. It is untrusted: if
/// it nested deeply, writing it would overflow the stack.
std::string Canonical(const std::string& text, const char* what) {
  const std::string origin = fmt::format("label: {}", what);
  const nlohmann::json json = ParseJson(text, origin);
  if (json.is_object()) return json.dump();
  throw InvalidArgument("{} '{}' is not a JSON object", origin,
                        text.substr(0, 60));
}

}  // namespace

dataset::Store::Store(const std::string& path, dataset::Access access,
                      Trust trust)
    : connection_(path, access) {
  if (trust == Trust::kUnchecked) connection_.LimitWork();
  dataset::CreateOrCheckSchema(connection_, access);
  if (trust == Trust::kChecked) CheckStructure();
}

/// A damaged index hides rows from queries, which no checksum of a row shows.
void dataset::Store::CheckStructure() {
  const std::vector<Row> rows =
      connection_.All("PRAGMA main.integrity_check(1)");
  std::string found = rows.empty() ? "nothing" : Text(rows[0].at(0));
  if (found == "ok") return;
  // SQLite reports a problem in its pages on two lines.
  std::ranges::replace(found, '\n', ' ');
  throw Corrupt("{}: the file is damaged: {}", connection_.path(), found);
}

RowId dataset::Store::FindRow(const dataset::Table& table,
                              const std::string& where, const Row& cells) {
  const std::vector<Row> rows = connection_.All(
      fmt::format("SELECT id FROM {} WHERE {} LIMIT 1", table.name, where),
      cells);
  return rows.empty() ? 0 : Integer(rows[0][0]);
}

RowId dataset::Store::PutEnvironment(const std::string& json) {
  const RowId found = FindRow(dataset::kEnvironments, "json = ?1", {json});
  if (found != 0) return found;
  return InsertRow(connection_, dataset::kEnvironments,
                   {dataset::ContentHash(json), json});
}

std::map<RowId, std::string> dataset::Store::Environments() {
  std::map<RowId, std::string> environments;
  ForEachRow(connection_, dataset::kEnvironments, "", {},
             [&environments](const Row& row) {
               environments[Integer(row[0])] =
                   Text(CellOf(dataset::kEnvironments, row, "json"));
             });
  return environments;
}

RowId dataset::Store::PutBlob(const char* kind,
                              const dataset::PackedBlob& blob) {
  const std::vector<Row> same_hash = connection_.All(
      "SELECT id, data FROM blobs WHERE hash = ?1 AND kind = ?2 AND "
      "raw_bytes = ?3",
      {blob.hash, std::string(kind), blob.raw_bytes});
  for (const Row& row : same_hash) {
    if (Bytes(row[1]) == blob.data) return Integer(row[0]);
  }
  return InsertRow(
      connection_, dataset::kBlobs,
      {std::string(kind), blob.hash, blob.raw_bytes, Blob{blob.data}});
}

RowId dataset::Store::PutGraph(const dataset::PackedGraph& graph) {
  const RowId nodes = PutBlob("nodes", graph.nodes);
  const RowId edges = PutBlob("edges", graph.edges);
  const RowId text = PutBlob("text", graph.text);
  const RowId found =
      FindRow(dataset::kGraphs, "nodes = ?1 AND edges = ?2 AND text = ?3",
              {nodes, edges, text});
  if (found != 0) return found;
  const GraphSummary& summary = graph.summary;
  return InsertRow(connection_, dataset::kGraphs,
                   {nodes, edges, text, summary.num_nodes, summary.num_edges,
                    summary.parameters, summary.statics.macs,
                    summary.statics.batch, summary.statics.convolutions,
                    summary.statics.dense, summary.statics.relus});
}

bool dataset::Store::AddPacked(const Point& point,
                               const dataset::PackedGraph& graph,
                               const std::string& warnings) {
  Transaction transaction(connection_);
  StoredPoint stored = Find(point).value_or(StoredPoint{});
  if (stored.graph != 0) return false;
  stored.point = point;
  stored.status = PointStatus::kTraced;
  stored.graph = PutGraph(graph);
  ++stored.attempts;
  stored.reason.clear();
  stored.warnings = warnings;
  PutPoint(stored);
  transaction.Commit();
  return true;
}

bool dataset::Store::AddPackedRun(RowId point, const std::string& run,
                                  const dataset::PackedGraph& graph,
                                  const std::string& warnings) {
  Transaction transaction(connection_);
  RunGraph traced = FindRunGraph(point, run).value_or(RunGraph{});
  if (traced.graph != 0) return false;
  traced.point = point;
  traced.run = run;
  traced.graph = PutGraph(graph);
  ++traced.attempts;
  traced.reason.clear();
  traced.warnings = warnings;
  PutRunGraph(traced);
  transaction.Commit();
  return true;
}

std::vector<RunGraph> dataset::Store::RunGraphs() {
  std::vector<RunGraph> graphs;
  if (!HasTable(connection_, dataset::kRunGraphs)) return graphs;
  ForEachRow(
      connection_, dataset::kRunGraphs, "ORDER BY id", {},
      [&](const Row& row) { graphs.push_back(dataset::RunGraphOf(row)); });
  return graphs;
}

std::optional<RunGraph> dataset::Store::FindRunGraph(RowId point,
                                                     const std::string& run) {
  std::optional<RunGraph> found;
  if (!HasTable(connection_, dataset::kRunGraphs)) return found;
  ForEachRow(connection_, dataset::kRunGraphs, "WHERE point = ?1 AND run = ?2",
             {point, run},
             [&](const Row& row) { found = dataset::RunGraphOf(row); });
  return found;
}

void dataset::Store::PutRunGraph(const RunGraph& graph) {
  Row columns = dataset::RunGraphColumns(graph);
  if (graph.id == 0) {
    InsertRow(connection_, dataset::kRunGraphs, std::move(columns));
  } else {
    UpdateRow(connection_, dataset::kRunGraphs, graph.id, std::move(columns));
  }
}

std::optional<StoredPoint> dataset::Store::Find(const Point& point) {
  std::optional<StoredPoint> found;
  ForEachRow(connection_, dataset::kPoints,
             "WHERE model = ?1 AND batch = ?2 AND mode = ?3 AND "
             "precision = ?4 AND optimizer = ?5",
             KeyCells(point), [this, &found](const Row& row) {
               found = PointOf(connection_, row);
             });
  return found;
}

RowId dataset::Store::PutPoint(const StoredPoint& point) {
  Row columns = dataset::PointColumns(point);
  if (point.id == 0) {
    return InsertRow(connection_, dataset::kPoints, std::move(columns));
  }
  UpdateRow(connection_, dataset::kPoints, point.id, std::move(columns));
  return point.id;
}

void dataset::Store::PutLabel(const Label& given) {
  if (const auto problem = dataset::ValueProblem(given)) {
    throw InvalidArgument("label: {}", *problem);
  }
  Label label = given;
  label.setting = Canonical(label.setting, "environment");
  if (!label.details.empty())
    label.details = Canonical(label.details, "details");
  Transaction transaction(connection_);
  if (FindRow(dataset::kPoints, "id = ?1", {label.point}) == 0) {
    throw InvalidArgument("{}: a label names point {}, which does not exist",
                          connection_.path(), label.point);
  }
  const RowId environment = PutEnvironment(label.setting);
  const RowId found =
      FindRow(dataset::kLabels,
              "point = ?1 AND device = ?2 AND environment = ?3 AND source = ?4",
              {label.point, label.device, environment, label.source});
  Row columns = dataset::LabelColumns(label, environment);
  if (found == 0) {
    InsertRow(connection_, dataset::kLabels, std::move(columns));
  } else {
    UpdateRow(connection_, dataset::kLabels, found, std::move(columns));
  }
  transaction.Commit();
}

Row dataset::Store::GraphRow(RowId graph) {
  std::optional<Row> found;
  ForEachRow(connection_, dataset::kGraphs, "WHERE id = ?1", {graph},
             [&found](const Row& row) { found = row; });
  if (found) return *found;
  throw NotFound("{}: no graph {}", connection_.path(), graph);
}

dataset::PackedBlob dataset::Store::ReadBlob(RowId blob) {
  std::optional<dataset::PackedBlob> packed;
  ForEachRow(connection_, dataset::kBlobs, "WHERE id = ?1", {blob},
             [&packed](const Row& row) {
               const auto cell = [&row](std::string_view name) {
                 return CellOf(dataset::kBlobs, row, name);
               };
               packed = {.data = Bytes(cell("data")),
                         .raw_bytes = Integer(cell("raw_bytes")),
                         .hash = Integer(cell("hash"))};
             });
  if (packed) return *std::move(packed);
  throw dataset::CorruptRow(connection_, "blobs", blob, "it is missing");
}

std::string dataset::Store::Unpacked(RowId blob,
                                     const dataset::PackedBlob& packed) {
  try {
    return dataset::Unpack(packed.data, packed.raw_bytes);
  } catch (const Error& error) {
    throw dataset::CorruptRow(connection_, "blobs", blob, error.what());
  }
}

dataset::PackedGraph dataset::Store::Packed(RowId graph) {
  const Row row = GraphRow(graph);
  const auto blob = [&](std::string_view name) {
    return ReadBlob(Integer(CellOf(dataset::kGraphs, row, name)));
  };
  return {.summary = dataset::SummaryOf(row),
          .nodes = blob("nodes"),
          .edges = blob("edges"),
          .text = blob("text")};
}

std::optional<std::string> dataset::Store::FeatureVersion() {
  std::optional<std::string> version;
  ForEachRow(connection_, dataset::kMetadata, "WHERE key = 'feature_version'",
             {}, [&version](const Row& row) {
               version = Text(CellOf(dataset::kMetadata, row, "value"));
             });
  return version;
}

void dataset::Store::CheckFeatureVersion() {
  if (feature_version_is_ours_) return;
  const std::string found = FeatureVersion().value_or("none");
  if (found != fmt::format("{}", kFeatureVersion)) {
    throw Unsupported(
        "{}: node features of version {}, this foretell has version {}: "
        "regenerate the dataset",
        connection_.path(), found, kFeatureVersion);
  }
  feature_version_is_ours_ = true;
}

}  // namespace foretell
