#include <algorithm>

#include "src/runtime/onnxruntime/passes.h"

// ConstantFolding (core/optimizer/constant_folding.cc, ONNX Runtime 1.2x): an
// operator whose operands are all initializers runs once, on the CPU, when the
// session is created, and its result is an initializer. Random operators are
// left alone. The initializers that nothing else reads are dropped.

namespace foretell::runtime::ort {

void FoldConstants(Draft& draft, bool all) {
  for (DraftNode& node : draft.nodes) {
    const bool is_known =
        node.kind != OpKind::kRandom && !node.outputs.empty() &&
        std::ranges::all_of(node.inputs, [&draft](TensorId id) {
          return draft.IsConstant(id);
        });
    const bool is_view = node.kind == OpKind::kCopy || node.aliases;
    if (!is_known || (!all && !is_view)) continue;
    for (const TensorId id : node.outputs) {
      draft.tensors[static_cast<std::size_t>(id)].constant = true;
    }
    node.target.clear();
  }
  DropUnused(draft);
}

}  // namespace foretell::runtime::ort
