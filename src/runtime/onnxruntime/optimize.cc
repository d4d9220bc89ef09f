#include "src/runtime/onnxruntime/optimize.h"

#include "foretell/error.h"

namespace foretell::runtime {

OperatorGraph OptimizeForOnnxRuntime(const OperatorGraph& /*graph*/,
                                     const RuntimeSpec& /*spec*/) {
  throw Error(ErrorCode::kInvalidArgument,
              "--runtime onnxruntime is not modelled yet");
}

}  // namespace foretell::runtime
