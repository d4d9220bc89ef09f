#pragma once

#include <cstdint>
#include <optional>

#include "foretell/graph.h"

namespace foretell::cost {

/// `batch` products of [m, k] by [k, n].
struct ProductShape {
  std::int64_t batch = 1;
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
};

/// The matrix product that an einsum of two operands is: indices of both
/// operands and the result count as batch, those that the result lacks are
/// contracted, the others belong to one side. Empty for another number of
/// operands, an ellipsis, or an equation without "->".
std::optional<ProductShape> EinsumProduct(const OperatorGraph& graph,
                                          const Node& node);

}  // namespace foretell::cost
