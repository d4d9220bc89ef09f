#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/runtime/onnxruntime/passes.h"

// What onnxruntime.transformers.optimizer does to a file before a session reads
// it (fusion_attention.py; levels O2 to O4 of optimum call it), and which a
// session finds in few networks by itself:
//
//   projections  three linear layers of one input become one product
//   bias         a kernel adds it and writes queries, keys and values head by
//                head (AddBiasTranspose in bert/add_bias_transpose.cu)
//   attention    one kernel (com.microsoft.Attention, MultiHeadAttention: flash
//                or memory-efficient attention) that writes token by token, so
//                no Transpose follows
//
// A file that the optimizer wrote has com.microsoft.Attention already, which is
// recorded as the linear layer, the split, the Transposes and the attention
// that it computes, all with the node's name. So are MultiHeadAttention,
// GroupQueryAttention and ONNX's own Attention of three dimensions, but without
// the layer and the split. All of them are one kernel at every level
// (flash_attention and cutlass_fmha read and write token by token).

namespace foretell::runtime::ort {
namespace {

constexpr std::size_t kOperands = 3;  ///< Queries, keys, values.

class AttentionFusion {
 public:
  explicit AttentionFusion(Draft& draft) : draft_(draft), uses_(draft) {
    for (const DraftNode& node : draft.nodes) scopes_.insert(node.scope);
  }

  void Run(OrtLevel level) {
    for (DraftNode& node : draft_.nodes) {
      if (node.target != "scaled_dot_product_attention") continue;
      if (KeepWhole(node) || level != OrtLevel::kTransformers) continue;
      Fuse(node);
    }
    std::vector<DraftNode> nodes;
    for (std::size_t i = 0; i < draft_.nodes.size(); ++i) {
      for (auto& [place, node] : added_) {
        if (place == i) nodes.push_back(std::move(node));
      }
      nodes.push_back(std::move(draft_.nodes[i]));
    }
    draft_.nodes = std::move(nodes);
    DropUnused(draft_);
  }

 private:
  DraftNode* Producer(TensorId id) {
    const std::ptrdiff_t at = uses_.Producer(id);
    return at < 0 ? nullptr : &draft_.nodes[static_cast<std::size_t>(at)];
  }

  /// The linear layer whose result, cut into heads, is `id`.
  DraftNode* Projection(TensorId id) {
    DraftNode* node = Producer(id);
    while (node != nullptr && node->target != "linear" &&
           (node->aliases || node->kind == OpKind::kCopy) &&
           node->inputs.size() == 1 && node->outputs.size() == 1 &&
           uses_.Count(node->outputs[0]) == 1) {
      node = Producer(node->inputs[0]);
    }
    const bool found = node != nullptr && node->target == "linear" &&
                       node->inputs.size() == kOperands &&
                       uses_.Count(node->outputs[0]) == 1;
    return found ? node : nullptr;
  }

  void Fuse(const DraftNode& attention) {
    if (DraftNode* after = ReaderOf(attention.outputs[0])) BecomeView(*after);
    std::vector<DraftNode*> layers;
    for (std::size_t i = 0; i < kOperands; ++i) {
      DraftNode* layer = Projection(attention.inputs[i]);
      if (layer == nullptr) return;
      if (!layers.empty() &&
          (layer == layers[0] || layer->inputs[0] != layers[0]->inputs[0])) {
        return;
      }
      layers.push_back(layer);
    }
    Pack(attention, layers);
  }

  /// Node of the file with the name of `attention` that makes `id`.
  DraftNode* Part(TensorId id, const DraftNode& attention) {
    DraftNode* node = Producer(id);
    return node != nullptr && node->scope == attention.scope ? node : nullptr;
  }

  /// The node that makes what `id` is a transposed view of.
  DraftNode* Behind(TensorId id, const DraftNode& attention) {
    DraftNode* node = Part(id, attention);
    while (node != nullptr && node->inputs.size() == 1 &&
           (node->aliases || Transposes(*node))) {
      node = Part(node->inputs[0], attention);
    }
    return node;
  }

  /// Whether `scope` is a module with others inside rather than a node's name.
  bool IsModule(const std::string& scope) const {
    const auto inner = scopes_.lower_bound(scope + ".");
    return inner != scopes_.end() && inner->starts_with(scope + ".");
  }

  /// Keeps `attention` as one kernel if it is a node of the file that cuts its
  /// operands into heads and joins its result's; false if it is not.
  bool KeepProjected(DraftNode& attention) {
    DraftNode* after = ReaderOf(attention.outputs[0]);
    if (after == nullptr || after->scope != attention.scope ||
        Part(attention.inputs[0], attention) == nullptr ||
        IsModule(attention.scope)) {
      return false;
    }
    BecomeView(*after);
    for (std::size_t i = 0; i < kOperands; ++i) {
      DraftNode* node = Part(attention.inputs[i], attention);
      if (node != nullptr && Transposes(*node)) BecomeView(*node);
    }
    return attention.whole = true;
  }

  /// Keeps `attention` as one kernel if it is a node of the file; false if it
  /// is not. One with its projections inside has a second kernel for bias,
  /// split and Transposes.
  bool KeepWhole(DraftNode& attention) {
    if (attention.scope.empty()) return false;
    DraftNode* split = Behind(attention.inputs[0], attention);
    if (split == nullptr || split->target != "split_with_sizes_copy") {
      return KeepProjected(attention);
    }
    DraftNode* linear = Part(split->inputs[0], attention);
    if (linear == nullptr || linear->target != "linear" ||
        linear->inputs.size() != kOperands) {
      return false;
    }
    WriteByHead(*linear, *split);
    for (std::size_t i = 0; i < kOperands; ++i) {
      DraftNode* node = Producer(attention.inputs[i]);
      if (node != nullptr && Transposes(*node)) BecomeView(*node);
    }
    if (DraftNode* after = ReaderOf(attention.outputs[0])) BecomeView(*after);
    return attention.whole = true;
  }

  /// Takes the bias out of `linear` into the kernel that splits its result.
  void WriteByHead(DraftNode& linear, DraftNode& split) {
    const TensorId sum = linear.outputs[0];
    linear.outputs = {draft_.AddTensor(draft_.TypeOf(sum))};
    DraftNode add = MakeNode("add", {linear.outputs[0], linear.inputs.back()},
                             sum, linear.scope);
    linear.inputs.pop_back();
    DraftNode parts = std::move(split);
    split = ort::Fuse("fused_elementwise", {std::move(add), std::move(parts)});
  }

  static bool Transposes(const DraftNode& node) {
    return node.target == "transpose_copy" || node.target == "permute_copy";
  }

  void BecomeView(DraftNode& node) {
    node.target = "reshape";
    node.kind = OpKind::kView;
    node.attributes = {{"shape", draft_.TypeOf(node.outputs[0]).shape}};
    node.aliases = true;
  }

  /// The Transpose that alone reads the result, if one does.
  DraftNode* ReaderOf(TensorId id) {
    const std::ptrdiff_t at = uses_.SoleReader(id);
    if (at < 0) return nullptr;
    DraftNode& node = draft_.nodes[static_cast<std::size_t>(at)];
    return Transposes(node) ? &node : nullptr;
  }

  TensorId Constant(TensorType type) {
    const TensorId id = draft_.AddTensor(std::move(type));
    draft_.tensors.back().constant = true;
    return id;
  }

  void Pack(const DraftNode& attention, const std::vector<DraftNode*>& layers) {
    TensorType weight = draft_.TypeOf(layers[0]->inputs[1]);
    TensorType bias = draft_.TypeOf(layers[0]->inputs[2]);
    TensorType result = draft_.TypeOf(layers[0]->outputs[0]);
    std::vector<std::int64_t> sizes;
    for (const DraftNode* layer : layers) {
      sizes.push_back(draft_.TypeOf(layer->inputs[1]).shape.at(0));
    }
    const auto rows =
        std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    weight.shape.at(0) = bias.shape.at(0) = result.shape.back() = rows;
    const TensorId product = draft_.AddTensor(result);
    const TensorId sum = draft_.AddTensor(result);
    const std::string scope = layers[0]->scope;
    const TensorId input = layers[0]->inputs[0];
    const TensorId offsets = Constant(std::move(bias));
    DraftNode linear = MakeNode("linear", {input, Constant(std::move(weight))},
                                product, scope);
    DraftNode add = MakeNode("add", {product, offsets}, sum, scope);
    DraftNode split{.target = "split_with_sizes_copy",
                    .kind = OpKind::kCopy,
                    .scope = scope,
                    .inputs = {sum},
                    .outputs = {attention.inputs.begin(),
                                attention.inputs.begin() + kOperands},
                    .attributes = {{"split_sizes", std::move(sizes)},
                                   {"dim", std::int64_t{-1}}}};
    const std::ptrdiff_t at = uses_.Producer(attention.outputs[0]);
    for (const TensorId id : split.outputs) Producer(id)->target.clear();
    const auto place = static_cast<std::size_t>(at);
    added_.emplace_back(place, std::move(linear));
    added_.emplace_back(place, ort::Fuse("fused_elementwise",
                                         {std::move(add), std::move(split)}));
  }

  Draft& draft_;
  const Uses uses_;
  std::set<std::string> scopes_;
  /// What goes before the node of an index.
  std::vector<std::pair<std::size_t, DraftNode>> added_;
};

}  // namespace

void FuseAttention(Draft& draft, OrtLevel level) {
  AttentionFusion(draft).Run(level);
}

}  // namespace foretell::runtime::ort
