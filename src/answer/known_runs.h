#pragma once

#include <optional>
#include <string>

#include "src/answer/learned_figure.h"
#include "src/answer/learned_figures.h"
#include "src/network/checkpoint.h"

namespace foretell::learned {

/// In which type operators compute.
enum class Casting {
  kAutocast,  ///< Autocast to f16 or bf16.
  kFp32,      ///< FP32 or TF32 without autocast.
  kNone,      ///< Any precision without autocast.
};

/// Which runs the labels of a network are of.
struct KnownRuns {
  Mode mode;
  Casting casting;
  /// Whether it answers for devices that it learned from, or for others; empty:
  /// for all.
  std::optional<bool> known_device;
};

/// Whether a network of such labels answers for the request.
bool KnowsSuchRuns(const KnownRuns& runs, const CheckpointInfo& info,
                   const LearnedRequest& request);

/// Why a learned latency is to stay analytic: labels are of large batches,
/// where the CPU runs ahead of the GPU. Empty when it is not.
std::string DispatchObjection(const LearnedFigure& figure,
                              const Prediction& prediction);

}  // namespace foretell::learned
