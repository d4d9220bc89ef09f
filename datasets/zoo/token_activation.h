#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

namespace foretell::zoo {

/// An activation of transformers' ACT2FN as a function.
using TokenActivation = at::Tensor (*)(const at::Tensor& x);

/// The activation `name`: silu, gelu, gelu_tanh (gelu_pytorch_tanh), gelu_new
/// (TanhGelu), relu, relu2. Throws Error(kInvalidArgument) for another.
TokenActivation FindTokenActivation(std::string_view name);

/// 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))), one operator at a time, as
/// transformers' NewGELUActivation.
at::Tensor TanhGelu(const at::Tensor& x);

}  // namespace foretell::zoo
