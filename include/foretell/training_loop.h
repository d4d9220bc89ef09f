#pragma once

#include <string>

#include "foretell/parallel.h"

namespace foretell {

/// Low-rank adapters trained instead of the weights (LoRA).
struct LoraSpec {
  int rank = 0;  ///< 0: none.
  /// Regular expression (RE2) that matches part of the names of the adapted
  /// layers' weights.
  std::string targets = {};

  bool operator==(const LoraSpec&) const = default;
};

/// How a loop runs its steps, of training if nothing else is stated. The
/// defaults are PyTorch's.
struct TrainingLoop {
  /// The optimizer runs over whole lists of tensors (`foreach`), PyTorch's
  /// default on GPUs; false: over one parameter at a time.
  bool foreach = true;
  /// The optimizer's step is one operator (`fused=True`), regardless of
  /// `foreach`. Requires HasFusedStep of the optimizer.
  bool fused = false;
  /// zero_grad() drops gradients; false: it fills them with zeros, and the
  /// backward pass adds to them.
  bool set_to_none = true;
  /// In inference the results of a pass, and what autograd keeps for them, live
  /// until those of the next pass exist, as in a loop of `y = net(x)`; a
  /// training loop always does so.
  bool keep_result = false;
  /// Batches whose gradients are accumulated per run of the optimizer, >= 1.
  int accumulation = 1;
  /// Trains only parameters whose names this regular expression (RE2) matches
  /// in part; empty: as the file declares.
  std::string trainable = {};
  /// Adapters; nothing else is then trained; not together with `trainable`.
  LoraSpec lora = {};
  /// Blocks to recompute in the backward pass, see RecomputeBlocks; empty:
  /// none.
  std::string recompute = {};
  ParallelSpec parallel = {};  ///< How GPUs share the step; one by default.

  bool operator==(const TrainingLoop&) const = default;
};

}  // namespace foretell
