#include "src/graph/validate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "src/core/checked.h"
#include "src/core/failure.h"
#include "src/graph/limits.h"

namespace foretell {
namespace {

enum class LifeStage : std::uint8_t { kUnborn, kAlive, kDead };

std::string Describe(const OperatorGraph& graph, StorageId id) {
  return fmt::format("storage {} ('{}')", id, graph.storage(id).label);
}

void CheckEventIds(const OperatorGraph& graph, std::size_t index) {
  const MemoryEvent& event = graph.events()[index];
  const std::int64_t storages = std::ssize(graph.storages());
  if (event.storage < 0 || event.storage >= storages) {
    throw InvalidArgument(
        "event {}: storage {} does not exist, the graph has {}", index,
        event.storage, storages);
  }
  const std::int64_t nodes = std::ssize(graph.nodes());
  if (event.node < kNone || event.node >= nodes) {
    throw InvalidArgument("event {}: node {} does not exist, the graph has {}",
                          index, event.node, nodes);
  }
  if (index > 0 && graph.events()[index - 1].node > event.node) {
    throw InvalidArgument("event {}: at node {} comes after one at node {}",
                          index, event.node, graph.events()[index - 1].node);
  }
}

/// Advances `stage` by `event`; throws Error if the event is impossible.
void Live(const OperatorGraph& graph, const MemoryEvent& event,
          LifeStage& stage) {
  const bool allocates = event.kind == MemoryEvent::Kind::kAllocate;
  const LifeStage required = allocates ? LifeStage::kUnborn : LifeStage::kAlive;
  if (stage == required) {
    stage = allocates ? LifeStage::kAlive : LifeStage::kDead;
    return;
  }
  const std::string at = fmt::format(" at node {}", event.node);
  if (allocates) {
    throw InvalidArgument("{} is allocated twice, again{}",
                          Describe(graph, event.storage), at);
  }
  throw InvalidArgument(
      "{} is freed{}{}", Describe(graph, event.storage), at,
      stage == LifeStage::kDead ? " a second time" : " unallocated");
}

/// Elements of a shape whose dimensions of size 0 count as 1.
std::optional<std::int64_t> ElementsWithoutZeros(
    std::vector<std::int64_t> shape) {
  for (std::int64_t& size : shape) size = std::max<std::int64_t>(size, 1);
  return CheckedProduct(shape);
}

/// Whether strides of the rank of `shape` keep to what CheckStrides demands.
bool StaysWithinLimits(const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& strides) {
  std::int64_t last = 0;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const std::int64_t stride = strides[dim];
    if (stride < 0 || stride > kMaxElements) return false;
    const auto steps =
        CheckedMul(std::max<std::int64_t>(shape[dim], 1) - 1, stride);
    if (!steps || *steps >= kMaxElements - last) return false;
    last += *steps;
  }
  return true;
}

/// A sum of bytes that names what exceeds the limit.
class Total {
 public:
  void Add(std::int64_t bytes, std::string_view what) {
    bytes_ += bytes;  // Each is at most the limit.
    if (bytes_ <= kMaxTotalBytes) return;
    throw InvalidArgument("{} have more than 2^60 bytes together", what);
  }

 private:
  std::int64_t bytes_ = 0;
};

}  // namespace

void CheckType(const TensorType& type, std::string_view what,
               std::string_view name) {
  const auto whose = [what, name] {
    return name.empty() ? std::string(what)
                        : fmt::format("{} '{}'", what, name);
  };
  if (type.shape.size() > kMaxRank) {
    throw InvalidArgument("{} has rank {}, at most {} is allowed", whose(),
                          type.shape.size(), kMaxRank);
  }
  for (const std::int64_t size : type.shape) {
    if (size < 0) {
      throw InvalidArgument("{} has a negative size: {}", whose(),
                            ToString(type));
    }
  }
  const auto elements = ElementsWithoutZeros(type.shape);
  if (elements && *elements <= kMaxElements) return;
  throw InvalidArgument("{}: {} has more than 2^56 elements", whose(),
                        ToString(type));
}

void CheckStrides(const Value& value) {
  const std::vector<std::int64_t>& shape = value.type.shape;
  if (value.strides.empty()) return;
  if (value.strides.size() != shape.size()) {
    throw InvalidArgument("tensor '{}' has {} strides, its rank is {}",
                          value.name, value.strides.size(), shape.size());
  }
  if (StaysWithinLimits(shape, value.strides)) return;
  throw InvalidArgument(
      "tensor '{}': {} has strides [{}], expected strides >= 0 that span at "
      "most 2^56 elements",
      value.name, ToString(value.type), fmt::join(value.strides, ", "));
}

void CheckInputs(const OperatorGraph& graph) {
  std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  std::ranges::sort(inputs);
  const auto twice = std::ranges::adjacent_find(inputs);
  if (twice == inputs.end()) return;
  throw InvalidArgument("input '{}' is marked twice", graph.value(*twice).name);
}

void CheckEvents(const OperatorGraph& graph) {
  std::vector<LifeStage> stages(graph.storages().size(), LifeStage::kUnborn);
  for (std::size_t i = 0; i < graph.events().size(); ++i) {
    CheckEventIds(graph, i);
    const MemoryEvent& event = graph.events()[i];
    Live(graph, event, stages[static_cast<std::size_t>(event.storage)]);
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i] != LifeStage::kUnborn) continue;
    throw InvalidArgument("{} is never allocated",
                          Describe(graph, static_cast<StorageId>(i)));
  }
}

void CheckBytes(const OperatorGraph& graph) {
  Total all;
  for (const Storage& storage : graph.storages()) {
    all.Add(storage.bytes, "all storages");
  }
}

void CheckTraffic(const OperatorGraph& graph, const Node& node) {
  Total all;
  for (const std::vector<ValueId>* ids : {&node.inputs, &node.outputs}) {
    for (const ValueId id : *ids) {
      all.Add(graph.value(id).type.Bytes(), "its operands and results");
    }
  }
}

void CheckTotalMacs(const OperatorGraph& graph) {
  std::int64_t all = 0;
  std::int64_t all_calls = 0;
  const auto add = [](const Node& node, std::int64_t& total) {
    const bool fits = !__builtin_add_overflow(total, node.macs, &total);
    if (fits && total <= kMaxMacs) return;
    throw InvalidArgument(
        "the multiply-accumulates of all operators exceed 2^62");
  };
  for (const Node& node : graph.nodes()) {
    add(node, all);
    for (const Node& call : node.calls) add(call, all_calls);
  }
}

}  // namespace foretell
