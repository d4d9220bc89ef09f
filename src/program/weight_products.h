#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstddef>

namespace foretell {

/// An operator that multiplies an input by a matrix of weights.
struct WeightProduct {
  const char* name;
  std::size_t input;  ///< Number of the argument.
  std::size_t weight;
  bool transposes;  ///< Reads the matrix as [out, in].
};

inline constexpr WeightProduct kWeightProducts[] = {
    {"aten::linear", 0, 1, true},
    {"aten::matmul", 0, 1, false},
    {"aten::mm", 0, 1, false},
    {"aten::addmm", 1, 2, false},
};

/// The row of `op`, or nullptr.
inline const WeightProduct* WeightProductOf(const c10::OperatorHandle& op) {
  if (!op.operator_name().overload_name.empty()) return nullptr;
  for (const WeightProduct& row : kWeightProducts) {
    if (op.operator_name().name == row.name) return &row;
  }
  return nullptr;
}

/// `tensor` itself if it has the type, else a copy.
inline at::Tensor InType(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.scalar_type() == type ? tensor : tensor.to(type);
}

}  // namespace foretell
