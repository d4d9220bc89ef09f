#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "foretell/graph.h"

namespace foretell::runtime {

/// Set on a reduction of what others made of parts of the rows: it is never
/// written out.
inline constexpr std::string_view kPartsAttribute = "of_parts";

/// What Inductor makes of a primitive.
enum class LoopKind : std::uint8_t {
  kView,       ///< Nothing: another look at a tensor.
  kPointwise,  ///< A loop over the result's elements.
  kReduction,  ///< A loop over rows and, inside, their elements.
  kExtern,     ///< A kernel of a library, or the optimizer.
};

/// A tensor that a loop reads.
struct LoopRead {
  ValueId buffer = kNone;  ///< In memory.
  ValueId value = kNone;   ///< The view of it that the loop looks at.
  /// Element after element in the buffer's order, as a kernel that wrote them
  /// leaves them in registers.
  bool in_order = true;
};

/// One primitive as a loop.
struct Loop {
  LoopKind kind = LoopKind::kExtern;
  /// Its results are in memory; otherwise every reader computes them again.
  bool is_buffer = true;
  std::int64_t rows = 0;          ///< Results.
  std::int64_t row_elements = 1;  ///< Of a reduction.
  bool is_inner = true;           ///< Rows lie in memory one after the other.
  bool steps_by_one = true;       ///< Neighbours in memory are in one row.
  std::vector<LoopRead> reads = {};  ///< Buffers, through all that is inline.
  std::vector<NodeId> inlined = {};  ///< Primitives computed inside, in order.
  std::int64_t operations = 1;       ///< Of the loop's body.
};

/// The loops of the primitives of `graph`, by node (Decompose): which of them
/// are inline in their readers as Inductor's lowering decides it.
std::vector<Loop> LowerLoops(const OperatorGraph& graph);

}  // namespace foretell::runtime
