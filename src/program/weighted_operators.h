#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace foretell {

/// What a layer does with its matrix.
enum class WeightUse : std::uint8_t {
  kProduct,
  kEmbedding,
  kConvolution,
};

/// An operator that is a layer with a matrix of weights.
struct WeightedOperator {
  std::string_view name;
  WeightUse kind;
  std::size_t input;  ///< Number of the argument.
  std::size_t weight;
  bool transposes;  ///< Reads a matrix as [out, in].
};

inline constexpr WeightedOperator kWeightedOperators[] = {
    {"aten::linear", WeightUse::kProduct, 0, 1, true},
    {"aten::matmul", WeightUse::kProduct, 0, 1, false},
    {"aten::mm", WeightUse::kProduct, 0, 1, false},
    {"aten::addmm", WeightUse::kProduct, 1, 2, false},
    {"aten::embedding", WeightUse::kEmbedding, 1, 0, false},
    {"aten::conv1d", WeightUse::kConvolution, 0, 1, true},
    {"aten::conv2d", WeightUse::kConvolution, 0, 1, true},
    {"aten::conv3d", WeightUse::kConvolution, 0, 1, true},
    {"aten::convolution", WeightUse::kConvolution, 0, 1, true},
    {"aten::_convolution", WeightUse::kConvolution, 0, 1, true},
};

/// The row of `name` ("aten::linear"); null if it is no such layer.
inline const WeightedOperator* WeightedOperatorNamed(std::string_view name) {
  const auto* const row =
      std::ranges::find(kWeightedOperators, name, &WeightedOperator::name);
  return row == std::end(kWeightedOperators) ? nullptr : row;
}

/// The row of `op`; null if it is no such layer.
inline const WeightedOperator* WeightedOperatorOf(
    const c10::OperatorHandle& op) {
  const std::string& overload = op.operator_name().overload_name;
  // conv2d.padding has its padding as a word.
  if (!overload.empty() && overload != "padding") return nullptr;
  return WeightedOperatorNamed(op.operator_name().name);
}

/// `tensor` itself if it has the type, else a copy.
inline at::Tensor InType(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.scalar_type() == type ? tensor : tensor.to(type);
}

}  // namespace foretell
