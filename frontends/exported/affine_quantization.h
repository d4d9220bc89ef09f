#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <utility>
#include <vector>

#include "frontends/exported/named_arguments.h"

namespace foretell::exported {

/// Smallest and largest number that a tensor is quantized to.
struct CodeRange {
  double low = 0;
  double high = 0;
};

/// The arguments quant_min and quant_max, or the limits of `type`. Throws
/// Error(kUnsupported) without both for anything except integers of 8 to 32
/// bits.
CodeRange RangeFor(const NamedArguments& given, at::ScalarType type);

/// `x` in 32 bits if it has 16.
at::Tensor FloatOfHalf(const at::Tensor& x);

/// 1.0 / x, as Python computes it.
at::Tensor Inverse(const at::Tensor& x);

/// `x` rounded, plus `zero` if it is defined, within `range`.
at::Tensor Rounded(at::Tensor x, const at::Tensor& zero, CodeRange range);

/// The least and the greatest of each group of numbers, moved to 0 if both lie
/// on one side of it.
std::pair<at::Tensor, at::Tensor> AroundZero(const at::Tensor& low,
                                             const at::Tensor& high);

// Operators of torchao, see CallQuantizedOperator.

std::vector<c10::IValue> QuantizeAffine(const NamedArguments& given);
std::vector<c10::IValue> DequantizeAffine(const NamedArguments& given);
std::vector<c10::IValue> ChooseAffine(const NamedArguments& given);

}  // namespace foretell::exported
