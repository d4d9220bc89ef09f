#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foretell/graph.h"
#include "foretell/trace.h"

namespace foretell {

/// Targets of all nodes, or of those in `phase`, in order.
inline std::vector<std::string> TargetsOf(
    const OperatorGraph& graph, std::optional<Phase> phase = std::nullopt) {
  std::vector<std::string> targets;
  for (const Node& node : graph.nodes()) {
    if (!phase || node.phase == *phase) targets.push_back(node.target);
  }
  return targets;
}

/// "y=f32[4]", or "n=i64[] on the host", for each.
inline std::vector<std::string> DescribeOutputs(const Trace& trace) {
  std::vector<std::string> texts;
  for (const TraceOutput& output : trace.outputs) {
    texts.push_back(output.name + "=" + ToString(output.type) +
                    (output.on_host ? " on the host" : ""));
  }
  return texts;
}

/// Bytes of all storages of a role, dead ones included.
inline std::int64_t BytesOfRole(const OperatorGraph& graph, TensorRole role) {
  std::int64_t bytes = 0;
  for (const Storage& storage : graph.storages()) {
    if (storage.role == role) bytes += storage.bytes;
  }
  return bytes;
}

/// The most bytes of a role that are alive at once during the recorded step.
inline std::int64_t PeakOfRole(const OperatorGraph& graph, TensorRole role) {
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (const MemoryEvent& event : graph.events()) {
    const Storage& storage = graph.storage(event.storage);
    if (event.node == kNone || storage.role != role) continue;
    live += event.kind == MemoryEvent::Kind::kAllocate ? storage.bytes
                                                       : -storage.bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

/// Node during which the storage of `value` dies; kNone if it never does.
inline NodeId DeathOf(const OperatorGraph& graph, ValueId value) {
  for (const MemoryEvent& event : graph.events()) {
    if (event.kind == MemoryEvent::Kind::kFree &&
        event.storage == graph.value(value).storage) {
      return event.node;
    }
  }
  return kNone;
}

/// Storages that are alive once `node` is done.
inline std::vector<bool> AliveAfter(const OperatorGraph& graph, NodeId node) {
  std::vector<bool> alive(graph.storages().size(), false);
  for (const MemoryEvent& event : graph.events()) {
    if (event.node > node) break;
    alive[static_cast<std::size_t>(event.storage)] =
        event.kind == MemoryEvent::Kind::kAllocate;
  }
  return alive;
}

/// Bytes of all storages that are alive once `node` is done.
inline std::int64_t LiveBytesAfter(const OperatorGraph& graph, NodeId node) {
  const std::vector<bool> alive = AliveAfter(graph, node);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < alive.size(); ++i) {
    if (alive[i]) bytes += graph.storages()[i].bytes;
  }
  return bytes;
}

}  // namespace foretell
