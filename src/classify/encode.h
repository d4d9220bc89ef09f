#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/classify/memory_classes.h"
#include "src/classify/step_inputs.h"

namespace foretell::classify {

/// Which of a step's inputs an estimator sees.
enum class InputSet : std::uint8_t {
  kPublished,  ///< GPUMemNet's: counts, sizes, cos and sin of the activation.
  kPhysics,    ///< Those, and the simulated memory.
};
std::string_view InputSetName(InputSet set);  ///< "published", "physics".
std::optional<InputSet> ParseInputSet(std::string_view name);

/// Names of the numbers that EncodeNumbers gives, in their order.
std::vector<std::string> NumberNames(InputSet set,
                                     const MemoryClasses& classes);
/// The step as plain numbers, not yet scaled. Sizes are log2(1 + size); the
/// simulated memory is compared with every edge of the classes as
/// 8 log2(memory / edge), cut at ±4: far from an edge its distance means
/// nothing.
std::vector<float> EncodeNumbers(const StepInputs& inputs, InputSet set,
                                 const MemoryClasses& classes);

/// What the simulation alone predicts for the classes, as logits that differ
/// from class to class by its distance to the edge between them:
///
///     logit[k] = sum over the first k edges of 8 log2(memory / edge), cut at
///     ±4
///
/// Zeros for the published inputs.
std::vector<float> EncodePrior(const StepInputs& inputs, InputSet set,
                               const MemoryClasses& classes);

/// Numbers of one element of a sequence: a share per LayerKind, then log2 of
/// 1 + activations of the batch and of 1 + parameters, over 20.
inline constexpr int kLayerWidth = kNumLayerKinds + 2;
/// Most elements of a sequence. A longer one is cut into runs of layers, each
/// of which summarises its layers: shares of kinds, sums of sizes.
inline constexpr std::int64_t kMostElements = 128;

/// Steps side by side, as estimators read them.
struct StepBatch {
  at::Tensor numbers;   ///< float32 [n, numbers].
  at::Tensor prior;     ///< float32 [n, classes]: EncodePrior.
  at::Tensor layers;    ///< float32 [n, longest, kLayerWidth]; 0 beyond an end.
  at::Tensor is_layer;  ///< bool [n, longest].
};

/// Which steps of a StepTable, in which order.
using Rows = std::span<const std::int64_t>;

/// Encoded steps. `with_layers` false: batches have numbers only.
class StepTable {
 public:
  StepTable(std::span<const StepInputs* const> steps, InputSet set,
            const MemoryClasses& classes, bool with_layers);

  std::int64_t size() const { return numbers_.size(0); }
  const at::Tensor& numbers() const { return numbers_; }
  StepBatch Take(Rows rows) const;

 private:
  at::Tensor numbers_;
  at::Tensor prior_;
  std::vector<at::Tensor> layers_;  ///< float32 [length, kLayerWidth] each.
};

}  // namespace foretell::classify
