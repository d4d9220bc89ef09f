#pragma once

#include <cstdint>

#include "foretell/graph.h"
#include "foretell/run.h"

namespace foretell::cost {

/// What `torch.autocast("cuda", torch.float16)` does to an operator's
/// floating-point operands and results.
enum class AutocastRule : std::uint8_t {
  kHalf,   ///< Operands are cast to f16; results are f16.
  kFloat,  ///< Operands are cast to f32; results are f32.
  /// Operands are read as they are, results are f32: the operator takes a
  /// dtype and converts on the way.
  kFloatInside,
  kAsFirst,  ///< No casts; results have the type of the first operand.
  kPromote,  ///< No casts; the widest operand that is no scalar decides.
};

/// The rule of `node`: by its name where the name stands in autocast's list of
/// FP32 operators (https://docs.pytorch.org/docs/stable/amp.html), else by its
/// kind. Norms that the run keeps in half are kHalf.
AutocastRule AutocastRuleOf(const Node& node, const Run& run = {});

}  // namespace foretell::cost
