#include "src/parallel/flat_shards.h"

#include <algorithm>
#include <compare>
#include <map>
#include <numeric>

#include "src/core/checked.h"
#include "src/graph/recompute_plan.h"
#include "src/parallel/step_rewriter.h"

// FlatParamHandle (torch/distributed/fsdp/_flat_param.py, 2.13) concatenates a
// unit's parameters, and the optimizer is given the GPU's part of the result.
// The allocator so serves few large requests: what a block's activations have
// left is often too small for one.

namespace foretell::parallel {
namespace {

/// What storages of one tensor have in common.
struct FlatTensor {
  std::size_t unit = 0;
  bool trained = false;
  NodeId birth = kNone;
  NodeId death = kNone;
  std::int64_t element_bytes = 0;
  int ordinal = 0;  ///< Among those of its parameter that are equal so far.

  auto operator<=>(const FlatTensor&) const = default;
};

/// By parameter.
std::vector<std::size_t> UnitsOf(const StepFacts& facts,
                                 const ShardedUnits& units) {
  std::vector<std::size_t> unit_of(facts.parameters.size(), 0);
  for (std::size_t i = 0; i < units.units.size(); ++i) {
    for (const ParameterIndex index : units.units[i].parameters) {
      unit_of[IndexOf(index)] = i;
    }
  }
  return unit_of;
}

/// By parameter, of units that are cut into equal parts.
std::vector<std::int64_t> OwnElementsOf(const OperatorGraph& graph,
                                        const StepFacts& facts,
                                        const ShardedUnits& units,
                                        std::int64_t gpus) {
  std::vector<std::int64_t> own(facts.parameters.size(), 0);
  for (const ShardedUnit& unit : units.units) {
    const auto elements = [&](ParameterIndex index) {
      const ValueId value = facts.parameters[IndexOf(index)].value;
      return graph.value(value).type.NumElements();
    };
    std::int64_t left = 0;
    for (const ParameterIndex index : unit.parameters) left += elements(index);
    left = CeilDiv(left, gpus);
    for (const ParameterIndex index : unit.parameters) {
      own[IndexOf(index)] = std::min(left, elements(index));
      left -= own[IndexOf(index)];
    }
  }
  return own;
}

}  // namespace

FlatShards::FlatShards(const OperatorGraph& graph, const StepFacts& facts,
                       const ShardedUnits& units, const ParallelSpec& spec)
    : leaders_(graph.storages().size()), parts_(graph.storages().size()) {
  std::iota(leaders_.begin(), leaders_.end(), 0);
  if (spec.kind != ParallelKind::kFsdp1) return;
  own_ = OwnElementsOf(graph, facts, units, ShardGroup(spec));
  const std::vector<StorageLife> lives = StorageLives(graph);
  const std::vector<std::size_t> unit_of = UnitsOf(facts, units);
  std::map<std::pair<ParameterIndex, FlatTensor>, int> equal;
  std::map<FlatTensor, StorageId> found;
  for (StorageId id = 0; id < std::ssize(graph.storages()); ++id) {
    const ParameterIndex index = facts.OwnerOf(id);
    if (index == kNone) continue;
    const Parameter& parameter = facts.parameters[IndexOf(index)];
    if (parameter.gradient == id) continue;
    if (spec.orig_params && parameter.storage != id) continue;
    const std::int64_t elements =
        graph.value(parameter.value).type.NumElements();
    const std::int64_t bytes = graph.storage(id).bytes;
    if (elements == 0 || bytes < elements || bytes % elements != 0) continue;
    FlatTensor tensor = {.unit = unit_of[IndexOf(index)],
                         .trained = parameter.gradient != kNone,
                         .birth = lives[IndexOf(id)].birth,
                         .death = lives[IndexOf(id)].death,
                         .element_bytes = bytes / elements};
    tensor.ordinal = equal[{index, tensor}]++;
    const StorageId leader = found.try_emplace(tensor, id).first->second;
    leaders_[IndexOf(id)] = leader;
    parts_[IndexOf(leader)].push_back(id);
  }
}

}  // namespace foretell::parallel
