#include "foretell/dataset.h"

#include <fmt/core.h>

#include <utility>

#include "datasets/store/rows.h"
#include "datasets/store/schema.h"
#include "datasets/store/store.h"
#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "src/core/failure.h"

namespace foretell {

using dataset::Access;
using dataset::CellOf;
using dataset::Integer;
using dataset::Row;
using dataset::Store;
using dataset::Text;
using dataset::Transaction;

dataset::Store& dataset::StoreOf(const Dataset& dataset) {
  return *dataset.store_;
}

Dataset::Dataset(std::unique_ptr<Store> store) : store_(std::move(store)) {}
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;
Dataset::~Dataset() = default;

Dataset Dataset::Open(const std::string& path) {
  return Dataset(std::make_unique<Store>(path, Access::kRead));
}

Dataset Dataset::OpenDamaged(const std::string& path) {
  return Dataset(
      std::make_unique<Store>(path, Access::kRead, Store::Trust::kUnchecked));
}

Dataset Dataset::OpenForWriting(const std::string& path) {
  return Dataset(std::make_unique<Store>(path, Access::kWrite));
}

Dataset Dataset::OpenOrCreate(const std::string& path) {
  return Dataset(std::make_unique<Store>(path, Access::kCreate));
}

const std::string& Dataset::path() const { return store_->connection().path(); }

std::map<std::string, std::string> Dataset::Metadata() const {
  std::map<std::string, std::string> metadata;
  ForEachRow(
      store_->connection(), dataset::kMetadata, "", {},
      [&metadata](const Row& row) { metadata[Text(row[1])] = Text(row[2]); });
  return metadata;
}

std::int64_t Dataset::NumPoints() const {
  return store_->connection().Integer("SELECT count(*) FROM points");
}

std::vector<StoredPoint> Dataset::Points() const {
  dataset::Connection& connection = store_->connection();
  std::vector<StoredPoint> points;
  ForEachRow(connection, dataset::kPoints, "ORDER BY id", {},
             [&](const Row& row) {
               points.push_back(dataset::PointOf(connection, row));
             });
  return points;
}

std::optional<StoredPoint> Dataset::Find(const Point& point) const {
  return store_->Find(point);
}

std::vector<RunGraph> Dataset::RunGraphs() const { return store_->RunGraphs(); }

std::vector<GraphSummary> Dataset::Graphs() const {
  std::vector<GraphSummary> graphs;
  ForEachRow(
      store_->connection(), dataset::kGraphs, "ORDER BY id", {},
      [&graphs](const Row& row) { graphs.push_back(dataset::SummaryOf(row)); });
  return graphs;
}

GraphFeatures Dataset::Features(RowId graph) const {
  store_->CheckFeatureVersion();
  const Row row = store_->GraphRow(graph);
  const RowId nodes = Integer(CellOf(dataset::kGraphs, row, "nodes"));
  const RowId edges = Integer(CellOf(dataset::kGraphs, row, "edges"));
  const GraphSummary summary = dataset::SummaryOf(row);
  try {
    const dataset::PackedBlob packed_nodes = store_->ReadBlob(nodes);
    const dataset::PackedBlob packed_edges = store_->ReadBlob(edges);
    dataset::CheckFeatureSizes(summary, packed_nodes.raw_bytes,
                               packed_edges.raw_bytes);
    return dataset::DecodeFeatures(summary,
                                   store_->Unpacked(nodes, packed_nodes),
                                   store_->Unpacked(edges, packed_edges));
  } catch (const Error& error) {
    const Damage damage =
        dataset::DamageOf(path(), dataset::kGraphs.name, graph, error);
    throw Error(error.code(), fmt::format("{}: {}", path(), ToString(damage)));
  }
}

OperatorGraph Dataset::Graph(RowId graph) const {
  const Row row = store_->GraphRow(graph);
  const RowId blob = Integer(CellOf(dataset::kGraphs, row, "text"));
  const std::string text = store_->Unpacked(blob, store_->ReadBlob(blob));
  return ParseGraph(text, fmt::format("{}: graphs row {}", path(), graph));
}

namespace {

std::vector<Label> SelectLabels(dataset::Store& store, std::string_view rest,
                                const Row& cells) {
  const std::map<RowId, std::string> environments = store.Environments();
  std::vector<Label> labels;
  ForEachRow(
      store.connection(), dataset::kLabels, rest, cells, [&](const Row& row) {
        const RowId id = Integer(CellOf(dataset::kLabels, row, "environment"));
        const auto found = environments.find(id);
        if (found == environments.end()) {
          throw dataset::CorruptRow(store.connection(), "environments", id,
                                    "it is missing");
        }
        labels.push_back(
            dataset::LabelOf(store.connection(), row, found->second));
      });
  return labels;
}

}  // namespace

std::vector<Label> Dataset::Labels() const {
  return SelectLabels(*store_, "ORDER BY id", {});
}

std::vector<Label> Dataset::LabelsOf(RowId point) const {
  return SelectLabels(*store_, "WHERE point = ?1 ORDER BY id", {point});
}

std::vector<std::string> Dataset::SplitNames() const {
  std::vector<std::string> names;
  ForEachRow(store_->connection(), dataset::kSplits, "ORDER BY name", {},
             [&names](const Row& row) { names.push_back(Text(row[1])); });
  return names;
}

std::map<RowId, std::string> Dataset::Split(std::string_view name) const {
  std::optional<RowId> split;
  std::string there;
  ForEachRow(store_->connection(), dataset::kSplits, "ORDER BY name", {},
             [&](const Row& row) {
               if (Text(row[1]) == name) split = Integer(row[0]);
               there += (there.empty() ? "" : ", ") + Text(row[1]);
             });
  if (!split) {
    throw NotFound("{}: no split '{}'; there are: {}", path(), name,
                   there.empty() ? "none" : there);
  }
  std::map<RowId, std::string> parts;
  ForEachRow(store_->connection(), dataset::kSplitPoints, "WHERE split = ?1",
             {*split}, [&parts](const Row& row) {
               parts[Integer(CellOf(dataset::kSplitPoints, row, "point"))] =
                   Text(CellOf(dataset::kSplitPoints, row, "part"));
             });
  return parts;
}

struct Dataset::Batch::State {
  Transaction transaction;
};

Dataset::Batch::Batch(Dataset& dataset)
    : state_(new State{Transaction(dataset.store_->connection())}) {}
Dataset::Batch::~Batch() = default;
void Dataset::Batch::Commit() { state_->transaction.Commit(); }

bool Dataset::AddTraced(const Point& point, const OperatorGraph& graph,
                        const std::string& warnings) {
  store_->CheckFeatureVersion();
  return store_->AddPacked(point, dataset::PackGraph(graph), warnings);
}

void Dataset::AddFailure(const Point& point, const std::string& reason) {
  Transaction transaction(store_->connection());
  StoredPoint stored = store_->Find(point).value_or(StoredPoint{});
  if (stored.graph != 0) return;
  stored.point = point;
  stored.status = PointStatus::kFailed;
  ++stored.attempts;
  stored.reason = reason;
  store_->PutPoint(stored);
  transaction.Commit();
}

bool Dataset::AddRunGraph(RowId point, const std::string& run,
                          const OperatorGraph& graph,
                          const std::string& warnings) {
  store_->CheckFeatureVersion();
  return store_->AddPackedRun(point, run, dataset::PackGraph(graph), warnings);
}

void Dataset::AddRunFailure(RowId point, const std::string& run,
                            const std::string& reason) {
  Transaction transaction(store_->connection());
  RunGraph traced = store_->FindRunGraph(point, run).value_or(RunGraph{});
  if (traced.graph != 0) return;
  traced.point = point;
  traced.run = run;
  ++traced.attempts;
  traced.reason = reason;
  store_->PutRunGraph(traced);
  transaction.Commit();
}

RowId Dataset::AddUntraced(const Point& point) {
  Transaction transaction(store_->connection());
  const std::optional<StoredPoint> found = store_->Find(point);
  if (found) return found->id;
  const RowId id =
      store_->PutPoint({.point = point, .status = PointStatus::kUntraced});
  transaction.Commit();
  return id;
}

void Dataset::PutLabel(const Label& label) { store_->PutLabel(label); }

void Dataset::RemoveFailures(RowId point, std::string_view device,
                             std::string_view source) {
  store_->connection().Run(
      "DELETE FROM labels WHERE point = ?1 AND device = ?2 AND source = ?3 AND "
      "status = 'failed'",
      {point, std::string(device), std::string(source)});
}

void Dataset::PutSplit(const std::string& name, const std::string& kind,
                       std::uint64_t seed,
                       const std::map<RowId, std::string>& parts) {
  dataset::Connection& connection = store_->connection();
  Transaction transaction(connection);
  connection.Run(
      "DELETE FROM split_points WHERE split IN "
      "(SELECT id FROM splits WHERE name = ?1)",
      {name});
  connection.Run("DELETE FROM splits WHERE name = ?1", {name});
  const RowId split = InsertRow(connection, dataset::kSplits,
                                {name, kind, static_cast<std::int64_t>(seed)});
  for (const auto& [point, part] : parts) {
    InsertRow(connection, dataset::kSplitPoints, {split, point, part});
  }
  transaction.Commit();
}

}  // namespace foretell
