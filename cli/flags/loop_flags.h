#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "foretell/trace.h"

namespace foretell::cli {

/// Adds --foreach, --fused, --set-to-none, --late-zero-grad,
/// --optimizer-in-backward, --offload-optimizer, --offload-activations,
/// --loss-in-function, --step-in-function, --keep-result, --accumulate,
/// --trainable, --lora, --quantize, --input-grad, --recompute, --kernels and
/// --parallel: how a loop is written. `loop` must outlive the command.
void AddLoopFlags(CLI::App& command, TrainingLoop& loop);

/// The flags that state or change a default of PyTorch: "--foreach off".
std::vector<std::string> LoopWords(const TrainingLoop& loop);

}  // namespace foretell::cli
