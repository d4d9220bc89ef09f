#include "src/runtime/compile/compile.h"

#include "foretell/error.h"

namespace foretell::runtime {

OperatorGraph Compile(const OperatorGraph& /*graph*/,
                      const RuntimeSpec& /*spec*/) {
  throw Error(ErrorCode::kInvalidArgument,
              "--runtime compile is not modelled yet");
}

}  // namespace foretell::runtime
