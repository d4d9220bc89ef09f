#include <cstddef>
#include <cstdint>
#include <numeric>
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

namespace foretell::runtime::ort {
namespace {

constexpr std::size_t kOperands = 3;  ///< Queries, keys, values.

class AttentionFusion {
 public:
  explicit AttentionFusion(Draft& draft) : draft_(draft), uses_(draft) {}

  void Run() {
    for (DraftNode& node : draft_.nodes) {
      if (node.target == "scaled_dot_product_attention") Fuse(node);
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
    if (DraftNode* after = ReaderOf(attention.outputs[0])) {
      after->target = "reshape";
      after->kind = OpKind::kView;
      after->attributes = {{"shape", draft_.TypeOf(after->outputs[0]).shape}};
      after->aliases = true;
    }
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

  /// The Transpose that alone reads the result, if one does.
  DraftNode* ReaderOf(TensorId id) {
    const std::ptrdiff_t at = uses_.SoleReader(id);
    if (at < 0) return nullptr;
    DraftNode& node = draft_.nodes[static_cast<std::size_t>(at)];
    const bool transposes =
        node.target == "transpose_copy" || node.target == "permute_copy";
    return transposes ? &node : nullptr;
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
  /// What goes before the node of an index.
  std::vector<std::pair<std::size_t, DraftNode>> added_;
};

}  // namespace

void FuseAttention(Draft& draft) { AttentionFusion(draft).Run(); }

}  // namespace foretell::runtime::ort
