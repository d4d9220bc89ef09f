#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstdint>

#include "frontends/shared/layer_mode.h"

namespace foretell::torchscript {

/// How a file was made, according to its code.
enum class Making : std::uint8_t {
  kTraced,    ///< Whether layers train is constant in the code.
  kScripted,  ///< Layers ask their module's `training`.
  kFrozen,    ///< torch.jit.freeze: weights are constants, too.
};

Making MakingOf(const torch::jit::Module& module);

/// The constants of a trace that decide whether its layers train; none of code
/// that asks its module, where a constant is intended.
ModeFlags FlagsOf(const torch::jit::Module& module);

/// Makes those constants, and attention's dropout probability, follow the
/// ModeChange of the RunScope. A trace made in train() counts the batches of
/// its batch norms, which then stops too. Must come before the first run.
void FollowMode(const torch::jit::Module& module);

}  // namespace foretell::torchscript
