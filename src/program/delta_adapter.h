#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "foretell/lora.h"
#include "foretell/program.h"
#include "src/program/layer_adapter.h"

namespace foretell {

/// What LoHa trains next to a weight [m, n], by the ends of PEFT's names.
std::vector<NamedTensor> MakeLoHaParts(const LoraSpec& spec,
                                       const at::Tensor& weight);

/// The same for LoKr, without convolutions: of both matrices either the matrix
/// or its factors (tuners/lokr/layer.py, update_layer).
std::vector<NamedTensor> MakeLoKrParts(const LoraSpec& spec,
                                       const at::Tensor& weight);

/// What LoHa or LoKr adds to the result of a linear layer: the product of
/// `input` and of a weight made for it (tuners/{loha,lokr}/layer.py, 0.21).
at::Tensor DeltaTerm(const LoraSpec& spec, const LayerAdapter& adapter,
                     const at::Tensor& input);

}  // namespace foretell
