#include "datasets/store/packed_graph.h"

#include <cmath>
#include <cstring>

#include "foretell/graph_io.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/features/feature_table.h"

namespace foretell::dataset {
namespace {

constexpr std::int64_t kRowBytes = kNumNodeFeatures * sizeof(float);
constexpr std::int64_t kEdgeBytes = sizeof(std::int32_t);

/// Throws unless `bytes` is the size of `count` elements: a file may state any.
void CheckSize(const char* what, std::int64_t bytes, std::int64_t count,
               std::int64_t element_bytes) {
  if (bytes % element_bytes == 0 && bytes / element_bytes == count) return;
  throw Corrupt("{} has {}, expected {} times {}", what, Counted(bytes, "byte"),
                count, element_bytes);
}

/// A single NaN or infinity would destroy the weights of a network.
void CheckFinite(const std::vector<NodeFeatureRow>& nodes) {
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (std::size_t slot = 0; slot < nodes[node].size(); ++slot) {
      const float value = nodes[node][slot];
      if (std::isfinite(value)) continue;
      throw Corrupt("nodes: node {}: {} is {}, expected a finite number", node,
                    kNodeFeatures[slot].name, value);
    }
  }
}

std::vector<std::int64_t> DecodeNodeIds(std::string_view bytes,
                                        std::int64_t num_nodes) {
  std::vector<std::int64_t> ids;
  ids.reserve(bytes.size() / kEdgeBytes);
  for (std::size_t at = 0; at < bytes.size(); at += kEdgeBytes) {
    std::int32_t id = 0;
    std::memcpy(&id, bytes.data() + at, kEdgeBytes);
    if (id < 0 || id >= num_nodes) {
      throw Corrupt("edges: node {} of {}", id, num_nodes);
    }
    ids.push_back(id);
  }
  return ids;
}

}  // namespace

std::string EncodeNodes(const std::vector<NodeFeatureRow>& nodes) {
  return {reinterpret_cast<const char*>(nodes.data()),
          nodes.size() * kRowBytes};
}

std::string EncodeEdges(const GraphFeatures& features) {
  std::string bytes;
  bytes.reserve((features.sources.size() + features.targets.size()) *
                kEdgeBytes);
  for (const auto* ids : {&features.sources, &features.targets}) {
    for (const std::int64_t id : *ids) {
      const auto narrow = static_cast<std::int32_t>(id);
      bytes.append(reinterpret_cast<const char*>(&narrow), kEdgeBytes);
    }
  }
  return bytes;
}

void CheckFeatureSizes(const GraphSummary& summary, std::int64_t node_bytes,
                       std::int64_t edge_bytes) {
  CheckSize("nodes", node_bytes, summary.num_nodes, kRowBytes);
  CheckSize("edges", edge_bytes, summary.num_edges, 2 * kEdgeBytes);
}

GraphFeatures DecodeFeatures(const GraphSummary& summary,
                             std::string_view nodes, std::string_view edges) {
  CheckFeatureSizes(summary, std::ssize(nodes), std::ssize(edges));
  GraphFeatures features{
      .nodes = {}, .sources = {}, .targets = {}, .statics = summary.statics};
  features.nodes.resize(static_cast<std::size_t>(summary.num_nodes));
  if (!nodes.empty()) {
    std::memcpy(features.nodes.data(), nodes.data(), nodes.size());
  }
  CheckFinite(features.nodes);
  const std::size_t half = edges.size() / 2;
  features.sources = DecodeNodeIds(edges.substr(0, half), summary.num_nodes);
  features.targets = DecodeNodeIds(edges.substr(half), summary.num_nodes);
  return features;
}

PackedGraph PackGraph(const OperatorGraph& graph) {
  const GraphFeatures features = ExtractFeatures(graph);
  return {.summary = {.num_nodes = std::ssize(features.nodes),
                      .num_edges = std::ssize(features.sources),
                      .parameters = graph.ParameterElements(),
                      .statics = features.statics},
          .nodes = Pack(EncodeNodes(features.nodes)),
          .edges = Pack(EncodeEdges(features)),
          .text = Pack(PrintGraph(graph, {.with_timeline = true}))};
}

}  // namespace foretell::dataset
