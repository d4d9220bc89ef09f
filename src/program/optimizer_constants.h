#pragma once

#include "foretell/run.h"

/// Hyper-parameters of torch.optim where it has defaults, else 1e-3 and a
/// momentum of 0.9.
namespace foretell::optim {

inline constexpr double kLearningRate = 1e-3;
inline constexpr double kMomentum = 0.9;
inline constexpr double kBeta1 = 0.9;
inline constexpr double kBeta2 = 0.999;
inline constexpr double kEpsilon = 1e-8;
inline constexpr double kAdamWDecay = 1e-2;
inline constexpr double kRmsPropAlpha = 0.99;
inline constexpr double kAdagradEpsilon = 1e-10;
inline constexpr double kAdafactorLearningRate = 1e-2;
inline constexpr double kAdafactorBeta2Decay = -0.8;
inline constexpr double kAdafactorSmallestScale = 1e-3;

/// Weight decay of Adam's steps; 0 without.
constexpr double WeightDecay(Optimizer kind) {
  return kind == Optimizer::kAdam ? 0.0 : kAdamWDecay;
}

}  // namespace foretell::optim
