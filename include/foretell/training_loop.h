#pragma once

#include <string>

#include "foretell/parallel.h"

namespace foretell {

/// Low-rank adapters trained instead of the weights (LoRA).
struct LoraSpec {
  int rank = 0;  ///< 0: none.
  /// Regular expression (RE2's syntax) that is found in the names of the
  /// adapted layers' weights.
  std::string targets = {};

  bool operator==(const LoraSpec&) const = default;
};

/// How a training step is written where PyTorch leaves a choice. The defaults
/// are PyTorch's own.
struct TrainingLoop {
  /// The optimizer runs over whole lists of tensors (`foreach`), which on GPUs
  /// it does unless told otherwise; false: over one parameter at a time.
  bool foreach = true;
  /// The optimizer's step is one operator (`fused=True`), whatever `foreach`
  /// says. Requires HasFusedStep of the optimizer.
  bool fused = false;
  /// zero_grad() drops gradients; false: it fills them with zeros, and the
  /// backward pass adds to them.
  bool set_to_none = true;
  /// Batches whose gradients are added up for one run of the optimizer, >= 1.
  int accumulation = 1;
  /// Only parameters in whose names this regular expression (RE2's syntax) is
  /// found are trained; empty: as the file says.
  std::string trainable = {};
  /// Adapters; nothing else is trained then; not with `trainable`.
  LoraSpec lora = {};
  /// Blocks that are computed again in the backward pass, see
  /// RecomputeBlocks; empty: none.
  std::string recompute = {};
  ParallelSpec parallel = {};  ///< How GPUs share the step; one by default.

  bool operator==(const TrainingLoop&) const = default;
};

}  // namespace foretell
