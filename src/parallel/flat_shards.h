#pragma once

#include <cstdint>
#include <vector>

#include "foretell/parallel.h"
#include "src/parallel/sharded_units.h"
#include "src/parallel/step_facts.h"

namespace foretell::parallel {

/// The storages of a step that are one tensor each under FSDP 1: a GPU's part
/// of a unit's trained, or frozen, parameters, and what the optimizer makes of
/// it. With `orig_params` the optimizer sees what the first GPU has of each
/// parameter, so only the parameters are one.
class FlatShards {
 public:
  /// None of any other plan.
  FlatShards(const OperatorGraph& graph, const StepFacts& facts,
             const ShardedUnits& units, const ParallelSpec& spec);

  /// The first storage of the tensor that `id` is a part of; `id` itself for a
  /// storage of its own.
  StorageId LeaderOf(StorageId id) const {
    return leaders_[static_cast<std::size_t>(id)];
  }
  /// The storages that `leader` stands for, itself included; empty for a
  /// storage of its own.
  const std::vector<StorageId>& PartsOf(StorageId leader) const {
    return parts_[static_cast<std::size_t>(leader)];
  }
  /// Elements of the parameter in the first GPU's part of its unit: all of the
  /// first parameters, none of the last.
  std::int64_t OwnElements(ParameterIndex index) const {
    return own_[static_cast<std::size_t>(index)];
  }

 private:
  std::vector<StorageId> leaders_;             ///< By storage.
  std::vector<std::vector<StorageId>> parts_;  ///< By storage.
  std::vector<std::int64_t> own_;              ///< By parameter.
};

}  // namespace foretell::parallel
