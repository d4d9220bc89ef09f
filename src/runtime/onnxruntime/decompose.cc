#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/graph/attributes.h"
#include "src/graph/strides.h"
#include "src/runtime/onnxruntime/passes.h"

// PyTorch has operators that an exporter writes as several of ONNX:
//
//   attention    product with the transposed keys, mask, softmax, product
//                (ONNX has Attention since opset 23 only). The scale multiplies
//                both operands by its root, as torch.onnx writes it
//   linear       a product and a sum; a matrix has Gemm for both. ONNX Runtime
//                makes Gemm of more dimensions, between two Reshapes, if it
//                knows all sizes (MatMulAddFusion, level "basic"; there it
//                leaves the four layers of an attention of BERT, and "extended"
//                makes Gemm of them too). The optimizer of "transformers" comes
//                before and gives some biases to other kernels
//   group_norm   InstanceNormalization, scale and bias (opset < 21)
//   gelu, silu   functions of erf, tanh or sigmoid. Level "extended" fuses them
//                again (gelu_fusion.cc, quick_gelu_fusion.cc), and with them
//                rms_norm (layer_norm_fusion.cc)

namespace foretell::runtime::ort {
namespace {

class Decomposer {
 public:
  Decomposer(Draft& draft, OrtLevel level) : draft_(draft), level_(level) {}

  void Run() {
    std::vector<DraftNode> nodes = std::move(draft_.nodes);
    for (DraftNode& node : nodes) {
      if (!Rewrite(node)) draft_.nodes.push_back(std::move(node));
    }
  }

 private:
  bool fuses() const { return level_ >= OrtLevel::kExtended; }

  bool Rewrite(const DraftNode& node) {
    if (node.outputs.empty()) return false;
    const std::string& target = node.target;
    if (target == "scaled_dot_product_attention") {
      return level_ < OrtLevel::kTransformers && !node.whole && Attend(node);
    }
    if (target == "linear") return SplitBias(node);
    if (target == "mish") return Multiply(node, {"softplus", "tanh"});
    if (target == "group_norm") return SplitGroupNorm(node);
    if (fuses()) return false;
    if (target == "silu") return Multiply(node, {"sigmoid"});
    if (target == "gelu") {
      const bool is_exact = TextOf(AsNode(node), "approximate") != "tanh";
      return is_exact ? Multiply(node, {"div", "erf", "add", "mul"})
                      : Multiply(node, {"pow", "mul", "add", "mul", "tanh",
                                        "add", "mul"});
    }
    if (target == "rms_norm") {
      return Multiply(node, {"pow", "mean", "add", "sqrt", "reciprocal"});
    }
    return false;
  }

  TensorId Like(TensorId id) { return draft_.AddTensor(draft_.TypeOf(id)); }

  void Emit(std::string_view target, std::vector<TensorId> inputs,
            TensorId output, const DraftNode& node,
            Attributes attributes = {}) {
    draft_.nodes.push_back(MakeNode(target, std::move(inputs), output,
                                    node.scope, std::move(attributes)));
  }

  /// The operators one after the other, then the product with the operand.
  bool Multiply(const DraftNode& node,
                std::initializer_list<std::string_view> chain) {
    TensorId last = node.inputs[0];
    for (const std::string_view target : chain) {
      const TensorId next = Like(node.outputs[0]);
      Emit(target, {last}, next, node);
      last = next;
    }
    Emit("mul", {node.inputs[0], last}, node.outputs[0], node);
    return true;
  }

  bool MakesGemm() const {
    return draft_.knows_sizes && level_ >= OrtLevel::kBasic &&
           level_ < OrtLevel::kTransformers;
  }

  bool SplitBias(const DraftNode& node) {
    if (node.inputs.size() < 3) return false;
    if (draft_.TypeOf(node.inputs[0]).shape.size() == 2 || MakesGemm()) {
      return false;
    }
    const TensorId product = Like(node.outputs[0]);
    Emit("linear", {node.inputs[0], node.inputs[1]}, product, node);
    Emit("add", {product, node.inputs[2]}, node.outputs[0], node);
    return true;
  }

  bool SplitGroupNorm(const DraftNode& node) {
    TensorId last = node.inputs[0];
    const auto next = [&](std::size_t left) {
      return left == 0 ? node.outputs[0] : Like(node.outputs[0]);
    };
    const std::size_t affine = node.inputs.size() - 1;
    TensorId made = next(affine);
    Emit("instance_norm", {last}, made, node);
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      last = std::exchange(made, next(affine - i));
      Emit(i == 1 ? "mul" : "add", {last, ByChannel(node.inputs[i], node)},
           made, node);
    }
    return true;
  }

  /// A vector of a number per channel, of the rank of the node's result.
  TensorId ByChannel(TensorId id, const DraftNode& node) {
    TensorType type = draft_.TypeOf(id);
    type.shape.resize(draft_.TypeOf(node.outputs[0]).shape.size() - 1, 1);
    const TensorId made = draft_.AddTensor(std::move(type));
    draft_.tensors.back().constant = draft_.IsConstant(id);
    if (!draft_.IsConstant(id)) {
      Emit("view", {id}, made, node);
      draft_.nodes.back().aliases = true;
    }
    return made;
  }

  /// `id`, repeated for every head that shares it.
  TensorId ForHeads(TensorId id, const DraftNode& node) {
    const TensorType& query = draft_.TypeOf(node.inputs[0]);
    TensorType type = draft_.TypeOf(id);
    if (type.shape.size() < 3 || query.shape.size() != type.shape.size()) {
      return id;
    }
    const std::size_t heads = type.shape.size() - 3;
    if (type.shape[heads] == query.shape[heads]) return id;
    type.shape[heads] = query.shape[heads];
    const TensorId made = draft_.AddTensor(std::move(type));
    Emit("expand_copy", {id}, made, node);
    return made;
  }

  /// Read as it is by the product, or written so by the Transpose before it.
  TensorId Transposed(TensorId id, const DraftNode& node) {
    TensorType type = draft_.TypeOf(id);
    Strides strides = ContiguousStrides(type.shape);
    std::swap(type.shape.end()[-1], type.shape.end()[-2]);
    std::swap(strides.end()[-1], strides.end()[-2]);
    const TensorId made = draft_.AddTensor(std::move(type));
    draft_.tensors.back().strides = std::move(strides);
    Emit("transpose", {id}, made, node,
         {{"dim0", std::int64_t{-2}}, {"dim1", std::int64_t{-1}}});
    draft_.nodes.back().aliases = true;
    return made;
  }

  TensorId Scaled(TensorId id, const DraftNode& node) {
    if (fuses()) return id;
    const TensorId made = Like(id);
    Emit("mul", {id}, made, node);
    return made;
  }

  bool Attend(const DraftNode& node) {
    TensorType type = draft_.TypeOf(node.inputs[0]);
    if (type.shape.size() < 2 ||
        draft_.TypeOf(node.inputs[1]).shape.size() < 2) {
      return false;
    }
    const TensorId key = ForHeads(node.inputs[1], node);
    const TensorId value = ForHeads(node.inputs[2], node);
    type.shape.back() = draft_.TypeOf(key).shape.end()[-2];
    TensorId scores = draft_.AddTensor(type);
    Emit("matmul",
         {Scaled(node.inputs[0], node), Transposed(Scaled(key, node), node)},
         scores, node);
    const bool is_masked = node.inputs.size() > 3;
    if (is_masked || FlagOf(AsNode(node), "is_causal")) {
      std::vector<TensorId> operands = {scores};
      if (is_masked) operands.push_back(node.inputs[3]);
      scores = Like(scores);
      Emit("add", std::move(operands), scores, node);
    }
    const TensorId weights = Like(scores);
    Emit("softmax", {scores}, weights, node, {{"dim", std::int64_t{-1}}});
    Emit("matmul", {weights, value}, node.outputs[0], node);
    return true;
  }

  Draft& draft_;
  OrtLevel level_;
};

}  // namespace

void Decompose(Draft& draft, OrtLevel level) { Decomposer(draft, level).Run(); }

}  // namespace foretell::runtime::ort
