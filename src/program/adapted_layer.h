#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "foretell/lora.h"
#include "foretell/program.h"

namespace foretell {

/// Which layers may have an adapter.
enum class AdaptedKind : std::uint8_t {
  kProduct,
  kEmbedding,
  kConvolution,
};

/// An operator that is such a layer.
struct AdaptedOperator {
  const char* name;
  AdaptedKind kind;
  std::size_t input;  ///< Number of the argument.
  std::size_t weight;
  bool transposes;  ///< Reads a matrix as [out, in].
};

/// The row of `op`; null if it is no such layer.
const AdaptedOperator* AdaptedOperatorOf(const c10::OperatorHandle& op);

/// The trained tensors next to a weight [m, n] or, of a convolution,
/// [m, n, kernel…].
struct LayerAdapter {
  std::string name;  ///< Of the weight.
  at::Tensor weight;
  at::Tensor narrow;     ///< [rank, n, kernel…]: A where the input has n.
  at::Tensor wide;       ///< [m, rank, 1…]: B there.
  at::Tensor magnitude;  ///< DoRA's, [m]; else undefined.
  /// The kind of the first layer that read the weight: the only one adapted.
  std::optional<AdaptedKind> kind = {};
};

/// A call of a layer that has an adapter.
struct AdaptedCall {
  const c10::OperatorHandle& op;
  const AdaptedOperator& layer;
  const LayerAdapter& adapter;
  torch::jit::Stack arguments;  ///< Of the layer.
};

/// The adapters of a parameter, which must have two dimensions or more.
LayerAdapter MakeLayerAdapter(const LoraSpec& spec,
                              const NamedTensor& parameter);

/// The layer's result with its adapter, from the `result` without: of a linear
/// layer y + s·B(A(dropout(x))) in the type of y, with x cast to the type of A,
/// and with DoRA what dora.py computes. Tensors live as long as their names in
/// Python do (peft/tuners/lora/layer.py, dora.py and variants.py, 0.13 to
/// 0.21). Throws Error(kInvalidArgument) for layers that have no adapter in
/// PEFT, or whose adapter is not modelled: grouped and transposed convolutions,
/// DoRA on anything but nn.Linear.
at::Tensor AdaptedResult(const LoraSpec& spec, AdaptedCall call,
                         at::Tensor result);

}  // namespace foretell
