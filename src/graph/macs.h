#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "foretell/graph.h"
#include "src/graph/operands.h"

namespace foretell {

/// Product and sum of non-negative counts; throw Error(kInvalidArgument) that
/// names both beyond int64.
std::int64_t MulMacs(std::int64_t a, std::int64_t b);
std::int64_t AddMacs(std::int64_t a, std::int64_t b);

/// Multiply-accumulates of an einsum whose operands have `shapes`, contracted
/// pairwise from left to right; 0 for a single operand.
///
/// Throws Error(kInvalidArgument) for an equation that does not fit the shapes.
std::int64_t EinsumMacs(std::string_view equation,
                        const std::vector<std::vector<std::int64_t>>& shapes);

/// Counts attention, its backward operator, and recurrent layers and cells; the
/// formulas are in macs.cc. All throw Error(kInvalidArgument) when an operand
/// is missing or the count exceeds int64.
std::int64_t AttentionMacs(const Operands& op);
std::int64_t AttentionBackwardMacs(const Operands& op);
std::int64_t RecurrentMacs(const Operands& op);

}  // namespace foretell
