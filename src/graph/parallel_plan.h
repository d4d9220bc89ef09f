#pragma once

#include <string>
#include <string_view>

#include "foretell/parallel.h"
#include "foretell/runtime.h"

namespace foretell {

/// What the exchanges of a plan that is not combined are like.
struct PlanTraits {
  /// The GPUs form a group that shares a batch, or experts; in a combined plan
  /// there are several such groups.
  bool shares_batch = false;
  /// Of such a group each GPU has a batch of its own all the same.
  bool has_own_batches = false;
  /// Another plan averages gradients among the GPUs of a group as well, so its
  /// number of GPUs includes them.
  bool averages_gradients = false;
  /// Functional collectives, which allocate on the stream that computes.
  bool is_functional = false;
};

/// Of `plan`, as ToString(ParallelSpec) writes it; all false for other texts.
PlanTraits TraitsOf(std::string_view plan);

/// `model` for groups that share a step by `data`, whose GPUs are the groups.
/// Neither is combined.
ParallelSpec Combine(ParallelSpec model, const ParallelSpec& data);

/// True if steps of `runtime` can be shared by the plan: all in eager PyTorch;
/// in torch.compile those of one group that CompiledPlans has; else only one
/// GPU.
bool CanShareStep(Runtime runtime, const ParallelSpec& spec);
/// "ddp, zero1, …": plans by which compiled steps can be shared.
std::string CompiledPlans();

/// True if the plan, or one of two that are combined, is kPipeline.
bool HasStages(const ParallelSpec& spec);

}  // namespace foretell
