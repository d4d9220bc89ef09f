#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "src/classify/encode.h"

namespace foretell::classify {

/// GPUMemNet's two estimators.
enum class EstimatorKind : std::uint8_t {
  kMlp,          ///< Numbers of the step.
  kTransformer,  ///< Those, and the sequence of its layers.
};
std::string_view EstimatorName(EstimatorKind kind);  ///< "mlp", "transformer".
std::optional<EstimatorKind> ParseEstimator(std::string_view name);

/// Size of one estimator.
struct EstimatorOptions {
  EstimatorKind kind = EstimatorKind::kMlp;
  std::int64_t numbers = 0;  ///< Of a step: NumberNames.
  std::int64_t classes = 0;
  std::int64_t hidden = 48;  ///< Width of the fully connected layers.
  std::int64_t depth = 2;    ///< How many of these there are.
  /// Of the Transformer: width of an element, encoder blocks, heads.
  std::int64_t width = 24;
  std::int64_t blocks = 2;
  std::int64_t heads = 2;

  bool operator==(const EstimatorOptions&) const = default;
};

/// A network from a step to classes. It corrects what the simulation predicts:
///
///     logits = network(step) + gain * prior
///
/// with a gain that is learned, and a network that starts at 0.
class Estimator : public torch::nn::Module {
 public:
  Estimator();

  /// float32 [n, classes]: logits.
  at::Tensor forward(const StepBatch& batch);

 private:
  virtual at::Tensor Correct(const StepBatch& batch) = 0;

  at::Tensor gain_;
};

/// With random weights, drawn from the default generator.
///
///   mlp          h = numbers; `depth` times h = relu(W h + b); logits = W h +
///   b transformer  x = W layer + b + place; `blocks` times
///                  x += attention(norm(x)), x += W relu(W norm(x));
///                h = [mean of x, numbers], then as mlp
///
/// Places are coded by sines and cosines (Vaswani et al. 2017). Throws
/// Error(kInvalidArgument) for sizes below 1, a width that the heads do not
/// divide evenly, and an odd one.
std::shared_ptr<Estimator> MakeEstimator(const EstimatorOptions& options);

}  // namespace foretell::classify
