#include "src/answer/interval_width.h"

#include <algorithm>
#include <cmath>

#include "src/core/statistics.h"

namespace foretell {
namespace {

/// Factors that hold about 90 % of published rows of sources left out, as
/// scripts/published/fit_intervals.py prints them; docs/accuracy.md has its
/// table.
/// @{
constexpr WidthFactors kInference = {1.16, 1.21};
constexpr WidthFactors kInference16Bits = {1.32, 1.53};
constexpr WidthFactors kTraining = {1.10, 1.27};
constexpr WidthFactors kEnergy = {1.09, 1.32};
/// Of an engine of TensorRT: holds 90 % of published rows of devices left out,
/// as scripts/published/fit_tensorrt.py prints them.
constexpr WidthFactors kEngine = {1.40, 1.84};
/// Adds to them where one operator takes all the time.
constexpr WidthFactors kOneOperator = {1.39, 2.08};
/// @}

/// Several GPUs: a prior, to which nothing was fitted.
constexpr WidthFactors kShared = {2, 2};

bool Has16Bits(const Run& run) {
  return run.autocast || run.precision == Precision::kFp16 ||
         run.precision == Precision::kBf16;
}

const WidthFactors& NetworkFactors(const Prediction& prediction,
                                   Target target) {
  if (prediction.gpus > 1) return kShared;
  if (prediction.run.runtime.runtime == Runtime::kTensorRt) return kEngine;
  if (target == Target::kEnergy) return kEnergy;
  if (prediction.run.mode == Mode::kTraining) return kTraining;
  return Has16Bits(prediction.run) ? kInference16Bits : kInference;
}

/// The sum of the squares of the operators' shares of the GPU's time: the
/// inverse of how many they would be if each took as long; 0 without any.
double Concentration(const CostEstimate& cost) {
  double sum = 0;
  double squares = 0;
  for (const NodeCost& node : cost.nodes) {
    sum += node.gpu_us;
    squares += node.gpu_us * node.gpu_us;
  }
  return sum > 0 ? std::min(1.0, squares / (sum * sum)) : 0;
}

}  // namespace

WidthFactors ModelFactors(const Prediction& prediction, Target target) {
  const WidthFactors& network = NetworkFactors(prediction, target);
  // Independent errors of equal size: their mean falls with the square root.
  const double share = std::sqrt(Concentration(prediction.cost));
  return {
      .below = JointFactor(network.below, std::pow(kOneOperator.below, share)),
      .above = JointFactor(network.above, std::pow(kOneOperator.above, share))};
}

}  // namespace foretell
