#pragma once

#include <cstdint>

#include "foretell/graph.h"

namespace foretell {

/// Operators grouped by their bottleneck on a GPU: the one-hot part of the node
/// features. Coarser than OpKind, so that an operator seldom seen in training
/// shares its slot with common ones.
enum class OperatorClass : std::uint8_t {
  kConvolution,
  kMatrixProduct,
  kAttention,
  kRecurrent,
  kNormalization,
  kActivation,
  kResampling,
  kPointwise,
  kReduction,
  kView,
  kMovement,
  kOptimizer,
  kOther,
};

/// Class of `kind`; backward kinds share the class of their forward one.
OperatorClass ClassOf(OpKind kind);

}  // namespace foretell
