#pragma once

#include <ATen/core/ivalue.h>

#include <string_view>
#include <vector>

namespace foretell::exported {

/// An operator of Python on numbers, which graphs have for symbolic sizes.
using NumberOperator = c10::IValue (*)(const std::vector<c10::IValue>&);

/// The operator that `target` names ("_operator.add", "torch.sym_max"), null
/// for others. It computes as Python does; throws Error(kInvalidArgument) for
/// operands that it does not take, for division by zero, and where the result
/// has more than 64 bits.
NumberOperator FindNumberOperator(std::string_view target);

}  // namespace foretell::exported
