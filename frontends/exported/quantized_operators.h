#pragma once

#include <ATen/core/ivalue.h>

#include <string_view>
#include <vector>

#include "frontends/exported/call_operator.h"

/// Operators of `quantized_decomposed` (torch.ao, in what convert_pt2e makes)
/// and of `torchao`, which PyTorch composes in Python of ATen's operators.
namespace foretell::exported {

/// Whether `target` ("torch.ops.torchao.quantize_affine.default") names one.
bool IsQuantizedOperator(std::string_view target);

/// Runs the operator as its Python code does, kernel by kernel; `values` are
/// its arguments by name. Scales and zero points that Python reads from a
/// tensor are 1 and 0 if the tensor has no values. Requires
/// IsQuantizedOperator(target). Throws Error(kCorrupt) for an argument that is
/// absent or of another kind.
std::vector<c10::IValue> CallQuantizedOperator(std::string_view target,
                                               const NamedValues& values);

}  // namespace foretell::exported
