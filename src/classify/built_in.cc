#include "src/classify/built_in.h"

#include <algorithm>
#include <string>
#include <vector>

#include "src/classify/class_checkpoint.h"
#include "src/classify/embedded_classes.h"

namespace foretell::classify {
namespace {

/// Estimators for each kind of network.
constexpr std::size_t kEstimators = 2;

/// GPUMemNet ran its own networks by Adam, timm's by SGD with momentum.
constexpr std::string_view kOptimizers[] = {"adam", "momentum"};

bool NeedsOtherClasses(LayerKind kind) {
  return kind == LayerKind::kConvolution || kind == LayerKind::kAttention ||
         kind == LayerKind::kEmbedding;
}

std::vector<Ensemble> ReadAll() {
  std::vector<Ensemble> ensembles;
  for (const EmbeddedFile& file : EmbeddedClasses()) {
    ensembles.push_back(ParseEnsemble(file.bytes, std::string(file.path)));
  }
  return ensembles;
}

}  // namespace

bool IsFullyConnected(const StepInputs& step) {
  return step.Count(LayerKind::kLinear) > 0 &&
         std::ranges::none_of(step.layers, NeedsOtherClasses, &Layer::kind);
}

std::span<const std::string_view> LearnedOptimizers(const StepInputs& step) {
  return std::span(kOptimizers).first(IsFullyConnected(step) ? 1 : 2);
}

const Ensemble& BuiltInEnsemble(const StepInputs& step, EstimatorKind kind) {
  static const std::vector<Ensemble> ensembles = ReadAll();
  const std::size_t network = IsFullyConnected(step) ? 0 : 1;
  return ensembles.at(network * kEstimators + static_cast<std::size_t>(kind));
}

}  // namespace foretell::classify
