#pragma once

#include <map>
#include <optional>
#include <string>

#include "datasets/store/packed_graph.h"
#include "datasets/store/schema.h"
#include "foretell/dataset.h"

namespace foretell {

/// What is behind a Dataset. Methods that are not explained here do what the
/// method of the same name there promises.
class dataset::Store {
 public:
  /// Whether the file's structure is checked first.
  enum class Trust { kChecked, kUnchecked };

  Store(const std::string& path, dataset::Access access,
        Trust trust = Trust::kChecked);

  dataset::Connection& connection() { return connection_; }

  /// The environment's row, made when it is missing; `json` is canonical.
  RowId PutEnvironment(const std::string& json);
  /// JSON of all environments by row.
  std::map<RowId, std::string> Environments();

  bool AddPacked(const Point& point, const dataset::PackedGraph& graph,
                 const std::string& warnings);
  std::optional<StoredPoint> Find(const Point& point);
  /// Adds or replaces the row of a point. Requires an id of 0 for a new one.
  RowId PutPoint(const StoredPoint& point);
  void PutLabel(const Label& label);
  /// The graph's row with its summary. Throws Error(kNotFound).
  dataset::Row GraphRow(RowId graph);
  /// One of a graph's blobs, checked. Throws Error(kCorrupt) when it is
  /// missing.
  dataset::PackedBlob ReadBlob(RowId blob);
  /// What `packed`, the content of that row, decompresses to.
  std::string Unpacked(RowId blob, const dataset::PackedBlob& packed);

  /// A graph as AddPacked takes it; checked, but not decompressed.
  dataset::PackedGraph Packed(RowId graph);

  /// Version of the node features in this file; empty when the metadata do not
  /// say. Throws Error(kCorrupt) when their row is damaged.
  std::optional<std::string> FeatureVersion();
  /// Throws Error(kUnsupported) with both versions when features in this file
  /// are encoded otherwise than this program does. Looks once.
  void CheckFeatureVersion();

 private:
  void CheckStructure();
  RowId PutBlob(const char* kind, const dataset::PackedBlob& blob);
  RowId PutGraph(const dataset::PackedGraph& graph);
  /// Row of the first row that `where` selects from `table`; 0 for none.
  RowId FindRow(const dataset::Table& table, const std::string& where,
                const dataset::Row& cells);

  dataset::Connection connection_;
  bool feature_version_is_ours_ = false;
};

}  // namespace foretell
