// Data flow of a graph.
//
// An operator that writes in place makes a new value in the storage that it
// writes, so following values is enough as long as all readers read the new
// value. A reader may also hold an older view of the same storage: a buffer is
// made, a slice of it is filled, then the buffer itself is read. Therefore the
// last in-place writer of a storage is also a source of everything read from
// that storage afterwards. The rule is conservative: a write to one half of a
// storage counts as a dependency of a reader of the other half.

#include <algorithm>

#include "foretell/graph.h"

namespace foretell {
namespace {

bool WritesInPlace(const Node& node) {
  return node.target.ends_with('_') || node.target.starts_with("__i");
}

}  // namespace

const Attribute* Node::FindAttribute(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::vector<std::int64_t> Node::Ints(std::string_view name,
                                     std::vector<std::int64_t> fallback) const {
  const Attribute* attribute = FindAttribute(name);
  if (attribute == nullptr) return fallback;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(attribute)) {
    return *list;
  }
  if (const auto* number = std::get_if<std::int64_t>(attribute)) {
    return {*number};
  }
  return fallback;
}

std::int64_t Node::Int(std::string_view name, std::int64_t fallback) const {
  const Attribute* attribute = FindAttribute(name);
  if (attribute == nullptr) return fallback;
  if (const auto* number = std::get_if<std::int64_t>(attribute)) return *number;
  if (const auto* flag = std::get_if<bool>(attribute)) return *flag ? 1 : 0;
  return fallback;
}

std::vector<std::pair<NodeId, NodeId>> OperatorGraph::Edges() const {
  std::vector<std::pair<NodeId, NodeId>> edges;
  std::vector<NodeId> last_writer(storages_.size(), kNone);
  for (NodeId consumer = 0; consumer < static_cast<NodeId>(nodes_.size());
       ++consumer) {
    for (const ValueId id : node(consumer).inputs) {
      const NodeId producer = value(id).producer;
      if (producer != kNone) edges.emplace_back(producer, consumer);
      const NodeId writer =
          last_writer[static_cast<std::size_t>(value(id).storage)];
      if (writer > producer) edges.emplace_back(writer, consumer);
    }
    if (!WritesInPlace(node(consumer))) continue;
    for (const ValueId id : node(consumer).outputs) {
      last_writer[static_cast<std::size_t>(value(id).storage)] = consumer;
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

std::int64_t OperatorGraph::ForwardMacs() const {
  std::int64_t macs = 0;
  for (const Node& node : nodes_) {
    if (node.phase == Phase::kForward) macs += node.macs;
  }
  return macs;
}

std::span<const PipelineGpu> OperatorGraph::pipeline() const {
  if (!pipeline_) return {};
  return *pipeline_;
}

OperatorGraph OperatorGraph::InPipeline(
    std::shared_ptr<const std::vector<PipelineGpu>> pipeline,
    std::size_t gpu) const {
  OperatorGraph graph = *this;
  graph.pipeline_ = std::move(pipeline);
  graph.pipeline_gpu_ = gpu;
  return graph;
}

}  // namespace foretell
