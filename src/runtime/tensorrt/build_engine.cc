#include "src/runtime/tensorrt/build_engine.h"

#include "foretell/error.h"

namespace foretell::runtime {

OperatorGraph BuildEngine(const OperatorGraph& /*graph*/,
                          const RuntimeSpec& /*spec*/) {
  throw Error(ErrorCode::kInvalidArgument,
              "--runtime tensorrt is not modelled yet");
}

}  // namespace foretell::runtime
