#pragma once

#include <cstdint>
#include <vector>

#include "src/parallel/step_facts.h"

namespace foretell::parallel {

/// Each GPU's rows of the parameters, as split by torch.chunk: the first GPU
/// has the most. The graph and the facts must outlive it.
class ShardSizes {
 public:
  /// `expert_gpus`: GPUs that share experts; 1: none do.
  ShardSizes(const OperatorGraph& graph, const StepFacts& facts,
             const ParallelSpec& spec, int expert_gpus)
      : graph_(graph),
        facts_(facts),
        spec_(spec),
        gpus_(ShardGroup(spec)),
        expert_gpus_(expert_gpus) {}

  /// GPUs among which the parameter is split. All of a unit are split alike.
  int GpusOf(ParameterIndex index) const;
  int GpusOf(const std::vector<ParameterIndex>& indices) const {
    return GpusOf(indices.front());
  }

  /// The whole parameter.
  const TensorType& TypeOf(ParameterIndex index) const;
  /// The rows of the first GPU; a scalar is replicated.
  TensorType ShardType(ParameterIndex index) const;
  /// Element type of a GPU's own part, its gradient and its states.
  DType OwnDType(ParameterIndex index) const;
  /// Element type in which the gradient is reduced.
  DType ReducedDType(ParameterIndex index) const;
  /// Bytes of all GPUs' rows, each padded to those of the first. Throws
  /// Error(kInvalidArgument) beyond the limits of a graph.
  std::int64_t WholeBytes(ParameterIndex index) const;
  std::int64_t WholeBytes(const std::vector<ParameterIndex>& indices) const;
  /// Bytes of the parameters one after another, padded at the end to an equal
  /// number of elements for each GPU.
  std::int64_t FlatBytes(const std::vector<ParameterIndex>& indices) const;
  /// `bytes` of them in one list, by the first one's element type.
  TensorType FlatType(const std::vector<ParameterIndex>& indices,
                      std::int64_t bytes) const;

 private:
  std::int64_t RequireBytes(std::int64_t bytes) const;

  const OperatorGraph& graph_;
  const StepFacts& facts_;
  const ParallelSpec& spec_;
  int gpus_;
  int expert_gpus_;
};

}  // namespace foretell::parallel
