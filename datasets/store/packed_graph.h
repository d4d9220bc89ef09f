#pragma once

#include <cstdint>
#include <string>

#include "datasets/store/compression.h"
#include "foretell/dataset.h"

namespace foretell::dataset {

/// A graph as stored: compressed by workers, so that the single writer only
/// writes.
struct PackedGraph {
  GraphSummary summary;  ///< id unused.
  PackedBlob nodes;      ///< EncodeNodes
  PackedBlob edges;      ///< EncodeEdges
  PackedBlob text;       ///< PrintGraph with its timeline.
};

/// Extracts features of `graph` and packs everything.
PackedGraph PackGraph(const OperatorGraph& graph);

/// Row-major little-endian float32 [num_nodes, 32].
std::string EncodeNodes(const std::vector<NodeFeatureRow>& nodes);
/// Row-major little-endian int32 [2, num_edges]: sources, then targets.
std::string EncodeEdges(const GraphFeatures& features);

/// Throws Error(kCorrupt) unless blobs of these sizes match the counts of
/// `summary`. To be called before unpacking, because a file may state any size.
void CheckFeatureSizes(const GraphSummary& summary, std::int64_t node_bytes,
                       std::int64_t edge_bytes);

/// Inverse of both. Throws Error(kCorrupt) when a size or a node's number does
/// not fit `summary`, and for a feature that is infinite or NaN.
GraphFeatures DecodeFeatures(const GraphSummary& summary,
                             std::string_view nodes, std::string_view edges);

}  // namespace foretell::dataset
