#include "src/runtime/compile/backward_autocast.h"

#include <utility>

// AOTAutograd traces the backward pass under the autocast of the forward pass
// (backward_pass_autocast = "same_as_forward" in torch/_functorch/config.py),
// where eager PyTorch has none. So products of f32 operands, as the gradients
// of attention that is computed in f32, run in 16 bits.

namespace foretell::runtime {

ValueId EmitProduct(PrimitiveEmitter& emitter, std::string target,
                    std::vector<ValueId> inputs, TensorType type,
                    Attributes attributes) {
  const auto autocast = emitter.graph().info().autocast;
  if (!autocast || emitter.phase() != Phase::kBackward ||
      type.dtype != DType::kF32) {
    return emitter.Emit(std::move(target), std::move(inputs), std::move(type),
                        std::move(attributes));
  }
  for (ValueId& input : inputs) {
    TensorType cast = emitter.TypeOf(input);
    if (cast.dtype != DType::kF32) continue;
    cast.dtype = *autocast;
    input = emitter.Emit("to", {input}, std::move(cast));
  }
  const TensorType half = {*autocast, type.shape};
  const ValueId product = emitter.Emit(std::move(target), std::move(inputs),
                                       half, std::move(attributes));
  return emitter.Emit("to", {product}, std::move(type));
}

}  // namespace foretell::runtime
