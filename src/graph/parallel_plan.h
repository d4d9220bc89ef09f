#pragma once

#include <string_view>

#include "foretell/parallel.h"

namespace foretell {

/// What the exchanges of a plan that is not combined are like.
struct PlanTraits {
  /// GPUs share a batch, or experts, and other GPUs may have another one.
  bool shares_batch = false;
  /// Gradients are averaged among the GPUs, so that they are some of those of
  /// the plan by which groups share a step.
  bool averages_gradients = false;
  /// Functional collectives, which allocate on the stream that computes.
  bool is_functional = false;
};

/// Of `plan`, as ToString(ParallelSpec) writes it.
PlanTraits TraitsOf(std::string_view plan);

/// True if the plan, or one of two that are combined, is kPipeline.
bool HasStages(const ParallelSpec& spec);

}  // namespace foretell
