#include "src/program/operand_checks.h"

namespace foretell {

void RequireOperandsFit(const c10::OperatorHandle&, torch::jit::Stack&) {}

}  // namespace foretell
