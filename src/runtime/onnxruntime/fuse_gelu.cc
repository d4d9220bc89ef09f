#include <cstddef>
#include <string>
#include <string_view>

#include "src/runtime/onnxruntime/passes.h"

// FastGeluFusion (level "extended", core/optimizer/fast_gelu_fusion.cc): GELU
// by tanh that a file writes in full, as GPT-2's is, becomes one node. Both of
// its formulas:
//
//   0.5 x (1 + tanh(0.798 (x + 0.0447 pow(x, 3))))
//   0.5 x (1 + tanh(0.798 x (1 + 0.0447 x x)))

namespace foretell::runtime::ort {
namespace {

class GeluMatcher {
 public:
  explicit GeluMatcher(const Draft& draft) : draft_(draft), uses_(draft) {}

  /// The tensor of which `node` gives GELU; kNone: it does not.
  TensorId OperandOf(const DraftNode& node) const {
    if (!IsBinary(&node, "mul")) return kNone;
    for (const std::size_t half : {0, 1}) {
      const TensorId x = WithNumber(node.inputs[half], "mul");
      const DraftNode* const tanh =
          Made(WithNumber(node.inputs[1 - half], "add"), "tanh");
      if (x == kNone || tanh == nullptr) continue;
      const TensorId cubic = tanh->inputs[0];
      if (IsPower(cubic, x) || IsProduct(cubic, x)) return x;
    }
    return kNone;
  }

 private:
  /// The node that makes `id`, if it is a `target`; else null.
  const DraftNode* Made(TensorId id, std::string_view target) const {
    if (id == kNone || uses_.Producer(id) < 0) return nullptr;
    const auto at = static_cast<std::size_t>(uses_.Producer(id));
    const DraftNode& node = draft_.nodes[at];
    return node.target == target && !node.inputs.empty() ? &node : nullptr;
  }

  /// The operand of a `target` with a constant number that makes `id`; else
  /// kNone.
  TensorId WithNumber(TensorId id, std::string_view target) const {
    const DraftNode* const node = Made(id, target);
    if (node == nullptr) return kNone;
    if (node->inputs.size() == 1) return node->inputs[0];
    for (const std::size_t i : {0, 1}) {
      const TensorId number = node->inputs[i];
      if (draft_.IsConstant(number) &&
          draft_.TypeOf(number).NumElements() == 1) {
        return node->inputs[1 - i];
      }
    }
    return kNone;
  }

  static bool IsBinary(const DraftNode* node, std::string_view target) {
    return node != nullptr && node->target == target &&
           node->inputs.size() == 2;
  }

  /// The operand of `node` that is not `x`; kNone if it has no such operands.
  static TensorId OtherThan(TensorId x, const DraftNode* node,
                            std::string_view target) {
    if (!IsBinary(node, target)) return kNone;
    if (node->inputs[0] == x) return node->inputs[1];
    return node->inputs[1] == x ? node->inputs[0] : kNone;
  }

  bool IsPower(TensorId id, TensorId x) const {
    const DraftNode* const sum = Made(WithNumber(id, "mul"), "add");
    return WithNumber(WithNumber(OtherThan(x, sum, "add"), "mul"), "pow") == x;
  }

  bool IsProduct(TensorId id, TensorId x) const {
    const DraftNode* const product = Made(id, "mul");
    if (!IsBinary(product, "mul")) return false;
    for (const std::size_t scaled : {0, 1}) {
      const DraftNode* const square =
          Made(WithNumber(product->inputs[1 - scaled], "add"), "mul");
      if (WithNumber(product->inputs[scaled], "mul") == x &&
          WithNumber(OtherThan(x, square, "mul"), "mul") == x) {
        return true;
      }
    }
    return false;
  }

  const Draft& draft_;
  const Uses uses_;
};

}  // namespace

void FuseGelu(Draft& draft) {
  const GeluMatcher matcher(draft);
  for (DraftNode& node : draft.nodes) {
    const TensorId operand = matcher.OperandOf(node);
    if (operand == kNone) continue;
    node = MakeNode("gelu", {operand}, node.outputs[0], std::string(node.scope),
                    {{"approximate", std::string("tanh")}});
  }
  DropUnused(draft);
}

}  // namespace foretell::runtime::ort
