#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstdint>

#include "frontends/shared/layer_mode.h"

namespace foretell::torchscript {

/// What the code of a file says of how it was made.
enum class Making : std::uint8_t {
  kTraced,    ///< Whether layers train are constants of the code.
  kScripted,  ///< They ask their module's `training`.
  kFrozen,    ///< torch.jit.freeze: weights are constants, too.
};

Making MakingOf(const torch::jit::Module& module);

/// The constants of a trace that say whether its layers train; none of code
/// that asks its module: what stands in it as a constant is meant so.
ModeFlags FlagsOf(const torch::jit::Module& module);

/// Lets those constants, and attention's probability of dropout, follow the
/// ModeChange of the RunScope. A trace made in train() counts the batches of
/// its batch norms, which stops with them. Must come before the first run.
void FollowMode(const torch::jit::Module& module);

}  // namespace foretell::torchscript
