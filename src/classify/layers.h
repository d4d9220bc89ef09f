#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "foretell/graph.h"

namespace foretell::classify {

/// Kinds of layers that estimators of memory classes distinguish.
enum class LayerKind : std::uint8_t {
  kLinear,  ///< Of whatever operator an exporter writes: IsDense.
  kConvolution,
  kBatchNorm,
  kOtherNorm,
  kDropout,
  kActivation,
  kPooling,
  kAttention,
  kEmbedding,
  kSoftmax,
};
inline constexpr int kNumLayerKinds = 10;
std::string_view LayerKindName(LayerKind kind);  ///< "linear", "batch_norm", ….
std::optional<LayerKind> ParseLayerKind(std::string_view name);

/// Activation functions that GPUMemNet's networks have, in its order, which is
/// the one of the code of cos and sin.
enum class ActivationFunction : std::uint8_t {
  kElu,
  kGelu,
  kIdentity,  ///< None: no operator shows it.
  kLeakyRelu,
  kMish,
  kPrelu,
  kRelu,
  kSelu,
  kSilu,
  kSoftplus,
  kTanh,
};
inline constexpr int kNumActivationFunctions = 11;
std::string_view ActivationName(ActivationFunction function);
std::optional<ActivationFunction> ParseActivation(std::string_view name);

/// One layer of a network, as in GPUMemNet's sequences.
struct Layer {
  LayerKind kind = LayerKind::kLinear;
  std::int64_t activations = 0;  ///< Elements of its first result, per sample.
  std::int64_t parameters = 0;   ///< Elements of its weights and biases.

  bool operator==(const Layer&) const = default;
};

/// The layers of the forward pass in their order. Operators that are not layers
/// (views, sums, casts, the loss) are left out.
std::vector<Layer> LayersOf(const OperatorGraph& graph);

/// The activation function that most operators of the forward pass compute; of
/// several, the first in the order above; kIdentity without any.
ActivationFunction ActivationOf(const OperatorGraph& graph);

}  // namespace foretell::classify
