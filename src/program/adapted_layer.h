#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <vector>

#include "foretell/lora.h"
#include "src/program/layer_adapter.h"
#include "src/program/weighted_operators.h"

namespace foretell {

/// A call of a layer that has an adapter.
struct AdaptedCall {
  const c10::OperatorHandle& op;
  const WeightedOperator& layer;
  const LayerAdapter& adapter;
  torch::jit::Stack arguments;  ///< Of the layer.
  at::Tensor scale = {};        ///< Of the results; BOFT's input brings it.
};

/// Throws Error(kInvalidArgument) for layers that have no adapter in PEFT, or
/// whose adapter is not modelled: grouped and transposed convolutions, and
/// anything but nn.Linear with other methods than LoRA, and with DoRA.
void RequireAdaptable(const LoraSpec& spec, const AdaptedCall& call);

/// What IA3 puts in place of a feed-forward layer's input, and OFT and BOFT in
/// place of any layer's, last, after tensors that live as long as it
/// (peft/tuners/ia3/layer.py, 0.21; see RotatedInput); empty for other layers.
std::vector<at::Tensor> AdaptedInput(const LoraSpec& spec, AdaptedCall& call);

/// The layer's result with its adapter, from the `result` without: of a linear
/// layer y + s·B(A(dropout(x))) in the type of y, with x cast to the type of A,
/// and with DoRA what dora.py computes. Tensors live as long as their names in
/// Python do (peft/tuners/lora/layer.py, dora.py and variants.py, 0.13 to
/// 0.21; ia3/layer.py and vera/layer.py, 0.21; see DeltaTerm and ScaledResult).
at::Tensor AdaptedResult(const LoraSpec& spec, const AdaptedCall& call,
                         at::Tensor result);

}  // namespace foretell
