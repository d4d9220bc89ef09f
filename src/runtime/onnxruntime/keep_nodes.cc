#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "src/graph/strides.h"
#include "src/runtime/onnxruntime/passes.h"

// Nodes of com.microsoft in a file, as the optimizer of Stable Diffusion writes
// them, are recorded as the operators of PyTorch that they consist of, all with
// the node's name. Each is one kernel, or two, of contrib_ops/cuda:
//
//   GroupNorm, SkipGroupNorm   group norm of images with their channels last,
//                              with the sums before it and the SiLU after it
//   NhwcConv                   a convolution of such images
//   BiasSplitGelu              bias, halves, GELU and product
//
// What PyTorch permutes around them is how the file has the tensor anyway.

namespace foretell::runtime::ort {
namespace {

class NodeKeeper {
 public:
  explicit NodeKeeper(Draft& draft) : draft_(draft), uses_(draft) {}

  void Run() {
    for (DraftNode& node : draft_.nodes) {
      if (node.scope.empty() || node.inputs.empty()) continue;
      if (node.kind == OpKind::kConvolution) KeepConvolution(node);
      if (node.target == "group_norm") KeepNorm(node);
      if (node.target == "mul") KeepGate(node);
    }
    DropUnused(draft_);
  }

 private:
  DraftNode* At(std::ptrdiff_t index, std::string_view scope) {
    if (index < 0) return nullptr;
    DraftNode& node = draft_.nodes[static_cast<std::size_t>(index)];
    return node.scope == scope ? &node : nullptr;
  }

  /// The part of the file's node that makes `id`, or the one that alone reads
  /// it; null if another node does.
  DraftNode* Before(TensorId id, const DraftNode& node) {
    return At(uses_.Producer(id), node.scope);
  }
  DraftNode* After(TensorId id, const DraftNode& node) {
    return At(uses_.SoleReader(id), node.scope);
  }

  static bool Permutes(const DraftNode* node) {
    return node != nullptr && node->target == "permute_copy";
  }

  void BecomeView(DraftNode& node) {
    node.target =
        AsNode(node).FindAttribute("dims") != nullptr ? "permute" : "movedim";
    node.kind = OpKind::kView;
    node.aliases = true;
  }

  void KeepConvolution(DraftNode& node) {
    DraftNode* before = Before(node.inputs[0], node);
    DraftNode* after = After(node.outputs[0], node);
    if (!Permutes(before) || !Permutes(after)) return;
    for (const TensorId id : {node.inputs[0], node.outputs[0]}) {
      draft_.tensors[static_cast<std::size_t>(id)].strides =
          ChannelsLastStrides(draft_.TypeOf(id).shape);
    }
    BecomeView(*before);
    BecomeView(*after);
  }

  void KeepNorm(DraftNode& node) {
    DraftNode* before = Before(node.inputs[0], node);
    DraftNode* silu = After(node.outputs[0], node);
    if (silu != nullptr && silu->target != "silu") silu = nullptr;
    DraftNode& last = silu != nullptr ? *silu : node;
    DraftNode* after = After(last.outputs[0], node);
    if (!Permutes(before) || !Permutes(after)) return;
    node.inputs[0] = before->inputs[0];
    before->target.clear();
    std::vector<DraftNode> parts = SumsBefore(node);
    last.outputs = std::exchange(*after, {}).outputs;
    const bool gives_sum =
        !parts.empty() && uses_.Count(parts.back().outputs[0]) > 1;
    const TensorId sum = node.inputs[0];
    parts.push_back(std::exchange(node, {}));
    if (silu != nullptr) parts.push_back(std::exchange(*silu, {}));
    node = Fuse("fused_reduce", std::move(parts));
    if (gives_sum) node.outputs.push_back(sum);
  }

  /// Takes the sums that make the operand of a norm out of the graph, in order.
  std::vector<DraftNode> SumsBefore(const DraftNode& node) {
    std::vector<DraftNode> sums;
    TensorId id = node.inputs[0];
    while (DraftNode* sum = Before(id, node)) {
      if (sum->target != "add") break;
      id = sum->inputs[0];
      sums.insert(sums.begin(), std::exchange(*sum, {}));
    }
    return sums;
  }

  void KeepGate(DraftNode& node) {
    if (node.inputs.size() != 2) return;
    DraftNode* gelu = Before(node.inputs[1], node);
    if (gelu == nullptr || gelu->target != "gelu") return;
    DraftNode* split = Before(gelu->inputs[0], node);
    if (split == nullptr || split->target != "split_copy") return;
    DraftNode* bias = Before(split->inputs[0], node);
    if (bias == nullptr || bias->target != "add") return;
    std::vector<DraftNode> parts;
    for (DraftNode* part : {bias, split, gelu, &node}) {
      parts.push_back(std::exchange(*part, {}));
    }
    node = Fuse("fused_elementwise", std::move(parts));
  }

  Draft& draft_;
  const Uses uses_;
};

}  // namespace

void KeepNodes(Draft& draft) { NodeKeeper(draft).Run(); }

}  // namespace foretell::runtime::ort
