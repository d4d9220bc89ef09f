#include "src/answer/interval_width.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "src/core/statistics.h"

namespace foretell {
namespace {

/// Factors that hold about 90 % of published rows of sources left out, as
/// scripts/published/fit_intervals.py prints them; docs/accuracy.md has its
/// table.
/// @{
constexpr WidthFactors kInference = {1.16, 1.25};
constexpr WidthFactors kTraining = {1.09, 1.23};
constexpr WidthFactors kEnergy = {1.13, 1.27};
/// Of an engine of TensorRT: holds 90 % of published rows of devices left out,
/// as scripts/published/fit_tensorrt.py prints them.
constexpr WidthFactors kEngine = {1.40, 1.84};
/// @}

/// What an operator adds that takes all the time, by the same table. Where
/// PyTorch or cuBLAS launch what their sources say, a short one depends more on
/// how many threads its kernels have.
struct OperatorWidths {
  WidthFactors shorter;
  WidthFactors longer;
};
constexpr double kUsPerMs = 1e3;
constexpr double kLongUs = kUsPerMs;
constexpr WidthFactors kPlainConvolution = {1.21, 2.68};
constexpr WidthFactors kConvolution = {2.19, 2.16};
constexpr WidthFactors kUnusualConvolution = {1.59, 3.52};
constexpr WidthFactors kRareConvolution = {1.88, 16.1};

/// In the order of WorkKind.
constexpr std::array<OperatorWidths, kNumWorkKinds> kOneOperator = {{
    {.shorter = {1.83, 1.64}, .longer = {1.37, 1.22}},
    {.shorter = {1.52, 1.45}, .longer = {1.19, 1.00}},
    {.shorter = kPlainConvolution, .longer = kPlainConvolution},
    {.shorter = kConvolution, .longer = kConvolution},
    {.shorter = kUnusualConvolution, .longer = kUnusualConvolution},
    {.shorter = kRareConvolution, .longer = kRareConvolution},
}};

/// Several GPUs: a prior, to which nothing was fitted.
constexpr WidthFactors kShared = {2, 2};

const WidthFactors& NetworkFactors(const Prediction& prediction,
                                   Target target) {
  if (prediction.gpus > 1) return kShared;
  if (prediction.run.runtime.runtime == Runtime::kTensorRt) return kEngine;
  if (target == Target::kEnergy) return kEnergy;
  return prediction.run.mode == Mode::kTraining ? kTraining : kInference;
}

/// What the operators' own errors add to the time of all kernels. Errors of
/// many operators even out: the squares of their logarithms add up, each by the
/// square of its operator's share of the time.
WidthFactors KernelFactors(const CostEstimate& cost, double sum_us) {
  double below = 0;
  double above = 0;
  for (const NodeCost& node : cost.nodes) {
    const OperatorWidths& kind =
        kOneOperator[static_cast<std::size_t>(node.work)];
    const WidthFactors& one =
        node.gpu_us < kLongUs ? kind.shorter : kind.longer;
    const double share = node.gpu_us / sum_us;
    below += std::pow(share * std::log(one.below), 2);
    above += std::pow(share * std::log(one.above), 2);
  }
  return {.below = std::exp(std::sqrt(below)),
          .above = std::exp(std::sqrt(above))};
}

/// What they add to the step: for its latency nothing while the CPU is still
/// longer.
WidthFactors OperatorFactors(const CostEstimate& cost, Target target) {
  double sum_us = 0;
  for (const NodeCost& node : cost.nodes) sum_us += node.gpu_us;
  if (sum_us <= 0) return {};
  const WidthFactors kernels = KernelFactors(cost, sum_us);
  if (target != Target::kLatency) return kernels;
  const double gpu_ms = sum_us / kUsPerMs;
  const double rest_ms =
      std::max(0.0, cost.latency_ms - std::max(gpu_ms, cost.dispatch_ms));
  const auto latency_ms = [&](double factor) {
    return rest_ms + std::max(factor * gpu_ms, cost.dispatch_ms);
  };
  return {.below = latency_ms(1) / latency_ms(1 / kernels.below),
          .above = latency_ms(kernels.above) / latency_ms(1)};
}

}  // namespace

WidthFactors ModelFactors(const Prediction& prediction, Target target) {
  const WidthFactors& network = NetworkFactors(prediction, target);
  const WidthFactors operators = OperatorFactors(prediction.cost, target);
  return {.below = JointFactor(network.below, operators.below),
          .above = JointFactor(network.above, operators.above)};
}

}  // namespace foretell
