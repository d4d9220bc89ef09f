#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foretell/lora.h"
#include "foretell/program.h"
#include "src/program/weighted_operators.h"

namespace foretell {

/// The tensors next to a weight [m, n] or, of a convolution, [m, n, kernel…].
struct LayerAdapter {
  std::string name;  ///< Of the weight.
  at::Tensor weight;
  /// LoRA's [rank, n, kernel…], A where the input has n; VeRA's A of all
  /// layers; IA3's [1, n] of a feed-forward layer, else undefined.
  at::Tensor narrow;
  /// LoRA's [m, rank, 1…], B there; VeRA's B of all layers; IA3's [m, 1] of
  /// other layers, else undefined.
  at::Tensor wide;
  at::Tensor magnitude = {};  ///< DoRA's, or VeRA's lambda_b: [m].
  at::Tensor low_scale = {};  ///< VeRA's lambda_d: [rank].
  /// Of LoHa, LoKr, OFT and BOFT instead of all these, by the ends of PEFT's
  /// names.
  std::vector<NamedTensor> parts = {};
  /// The kind of the first layer that read the weight: the only one adapted.
  std::optional<WeightUse> kind = {};
};

/// A tensor that requires gradients, of the adapters' type, where `like` is.
at::Tensor MakeTrained(const LoraSpec& spec, const at::Tensor& like,
                       at::IntArrayRef shape);

/// Makes the adapters of `weights`, which must have two dimensions or more, and
/// adds their tensors to `parameters`, by PEFT's names: "fc.weight.lora_A". All
/// but VeRA's matrices and the buffers of OFT and BOFT require gradients.
/// Throws Error(kInvalidArgument) if an expression of `spec` is invalid.
std::vector<LayerAdapter> MakeLayerAdapters(
    const LoraSpec& spec, const std::vector<NamedTensor>& weights,
    std::vector<NamedTensor>& parameters);

}  // namespace foretell
