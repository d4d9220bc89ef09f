#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "foretell/lora.h"
#include "foretell/program.h"
#include "src/program/layer_adapter.h"

namespace foretell {

/// What OFT keeps next to the weight [m, n] called `name`: the upper triangles
/// of its blocks, which it trains, and the indices of their elements. A number
/// or size of blocks that does not divide n becomes the nearest that does.
std::vector<NamedTensor> MakeOftParts(const LoraSpec& spec,
                                      const NamedTensor& weight);

/// What BOFT keeps, as without its CUDA extension, which sets one butterfly
/// factor: blocks and scales of the results, which it trains, and a permutation
/// [1, n, n] in f32, on the GPU after Trainer has moved the network there.
/// Throws Error(kInvalidArgument) if the blocks do not divide n.
std::vector<NamedTensor> MakeBoftParts(const LoraSpec& spec,
                                       const NamedTensor& weight);

/// What a linear layer reads instead of `input`, last, after tensors that live
/// as long as it (tuners/{oft,boft}/layer.py, 0.21). BOFT's second tensor
/// scales the layer's results.
std::vector<at::Tensor> RotatedInput(const LoraSpec& spec,
                                     const LayerAdapter& adapter,
                                     const at::Tensor& input);

/// The result of a layer with `bias`, if it is defined, times BOFT's `scale`.
at::Tensor ScaledResult(at::Tensor result, const at::Tensor& bias,
                        const at::Tensor& scale);

}  // namespace foretell
