#pragma once

#include <string>
#include <vector>

#include "foretell/graph.h"
#include "src/runtime/compile/primitive_emitter.h"

namespace foretell::runtime {

/// Adds the product `target` of tensors of the new graph, with a result of
/// `type`; in the backward pass of a step under autocast the product runs in
/// autocast's type, and f32 operands and results are cast to and from it.
ValueId EmitProduct(PrimitiveEmitter& emitter, std::string target,
                    std::vector<ValueId> inputs, TensorType type,
                    Attributes attributes = {});

/// Adds a product whose operands Inductor copies, casts or pads. False, and
/// nothing added, for every other node.
bool DecomposeProduct(PrimitiveEmitter& emitter, const Node& node);

}  // namespace foretell::runtime
