#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "datasets/store/packed_graph.h"
#include "datasets/store/schema.h"
#include "foretell/dataset.h"

namespace foretell {

/// Implementation of Dataset. Methods that are not explained here do what the
/// method of the same name there promises.
class dataset::Store {
 public:
  /// Whether the file's structure is checked first.
  enum class Trust { kChecked, kUnchecked };

  Store(const std::string& path, dataset::Access access,
        Trust trust = Trust::kChecked);

  dataset::Connection& connection() { return connection_; }

  /// The environment's row, created if missing; `json` is canonical.
  RowId PutEnvironment(const std::string& json);
  /// JSON of all environments by row.
  std::map<RowId, std::string> Environments();

  bool AddPacked(const Point& point, const dataset::PackedGraph& graph,
                 const std::string& warnings);
  /// Adds a point's graph under `run`; if there is one, returns false instead.
  bool AddPackedRun(RowId point, const std::string& run,
                    const dataset::PackedGraph& graph,
                    const std::string& warnings);
  std::vector<RunGraph> RunGraphs();
  std::optional<RunGraph> FindRunGraph(RowId point, const std::string& run);
  /// Adds a row, or replaces that of its id unless it is 0.
  void PutRunGraph(const RunGraph& graph);
  std::optional<StoredPoint> Find(const Point& point);
  /// Adds or replaces the row of a point. Requires an id of 0 for a new one.
  RowId PutPoint(const StoredPoint& point);
  void PutLabel(const Label& label);
  /// The graph's row with its summary. Throws Error(kNotFound).
  dataset::Row GraphRow(RowId graph);
  /// One of a graph's blobs, checked. Throws Error(kCorrupt) when it is
  /// missing.
  dataset::PackedBlob ReadBlob(RowId blob);
  /// Decompresses `packed`, the content of that row.
  std::string Unpacked(RowId blob, const dataset::PackedBlob& packed);

  /// A graph in the form for AddPacked; checked, but not decompressed.
  dataset::PackedGraph Packed(RowId graph);

  /// Version of the node features in this file; empty if the metadata lack it.
  /// Throws Error(kCorrupt) when their row is damaged.
  std::optional<std::string> FeatureVersion();
  /// Throws Error(kUnsupported) with both versions if features in this file are
  /// encoded differently from this program's. Checks only once.
  void CheckFeatureVersion();

 private:
  void CheckStructure();
  RowId PutBlob(const char* kind, const dataset::PackedBlob& blob);
  RowId PutGraph(const dataset::PackedGraph& graph);
  /// Id of the first row that `where` selects from `table`; 0 if there is none.
  RowId FindRow(const dataset::Table& table, const std::string& where,
                const dataset::Row& cells);

  dataset::Connection connection_;
  bool feature_version_is_ours_ = false;
};

}  // namespace foretell
