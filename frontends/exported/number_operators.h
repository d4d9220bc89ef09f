#pragma once

#include <ATen/core/ivalue.h>

#include <string_view>
#include <vector>

namespace foretell::exported {

/// A Python operator on numbers, which graphs use for symbolic sizes.
using NumberOperator = c10::IValue (*)(const std::vector<c10::IValue>&);

/// The operator that `target` names ("_operator.add", "torch.sym_max"), null
/// for others. It computes as Python does; throws Error(kInvalidArgument) for
/// operands that it does not accept, for division by zero, and if the result
/// has more than 64 bits.
NumberOperator FindNumberOperator(std::string_view target);

}  // namespace foretell::exported
