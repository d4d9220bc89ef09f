#pragma once

#include <cstdint>
#include <vector>

#include "src/parallel/step_facts.h"

namespace foretell::parallel {

/// Gradients that DistributedDataParallel reduces together.
struct GradientBucket {
  std::vector<ParameterIndex> parameters;
  std::int64_t bytes = 0;
};

/// Buckets as c10d's Reducer rebuilds them after the first backward pass
/// (torch/csrc/distributed/c10d/reducer.cpp, 2.13): gradients of one type in
/// the order in which they are ready; the first bucket is full once it holds
/// 1 MiB, all others 25 MiB.
std::vector<GradientBucket> MakeBuckets(const OperatorGraph& graph,
                                        const StepFacts& facts);

}  // namespace foretell::parallel
