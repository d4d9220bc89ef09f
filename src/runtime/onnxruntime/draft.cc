#include "src/runtime/onnxruntime/draft.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "src/graph/attributes.h"
#include "src/graph/index_of.h"

// What an export to ONNX keeps of PyTorch's operators. Every tensor of ONNX is
// row-major and written once:
//
//   in-place update      a new result
//   contiguous, detach,  nothing: the graph has no strides, no autograd and no
//   dropout              dropout in inference
//   permute, slice …     Transpose, Slice, Gather, Split, Expand: kernels that
//                        copy, where PyTorch makes views
//   view, squeeze …      Reshape, Squeeze, Unsqueeze: the same memory
//                        (.Alias(0, 0) in cuda/tensor/reshape.h)

namespace foretell::runtime::ort {
namespace {

/// Views of ONNX that are kernels, as the copies that ATen has of them.
constexpr std::pair<std::string_view, std::string_view> kCopyingViews[] = {
    {"permute", "permute_copy"},
    {"transpose", "transpose_copy"},
    {"swapaxes", "transpose_copy"},
    {"swapdims", "transpose_copy"},
    {"movedim", "permute_copy"},
    {"t", "t_copy"},
    {"numpy_T", "t_copy"},
    {"mT", "t_copy"},
    {"expand", "expand_copy"},
    {"expand_as", "expand_copy"},
    {"broadcast_to", "expand_copy"},
    {"select", "select_copy"},
    {"slice", "slice_copy"},
    {"narrow", "narrow_copy"},
    {"split", "split_copy"},
    {"split_with_sizes", "split_with_sizes_copy"},
    {"chunk", "split_copy"},
    {"unbind", "unbind_copy"},
    {"unfold", "unfold_copy"},
    {"diagonal", "diagonal_copy"},
    {"as_strided", "as_strided_copy"}};

/// Operators that an export drops if they keep type and shape.
constexpr std::string_view kDropped[] = {
    "contiguous", "clone",    "detach", "alias",     "dropout", "lift_fresh",
    "to",         "_to_copy", "expand", "expand_as", "type_as", "slice"};

/// Kinds whose recorded calls are their kernels.
constexpr OpKind kOfCalls[] = {OpKind::kRecurrent, OpKind::kDetection,
                               OpKind::kFft,       OpKind::kOther,
                               OpKind::kLoss,      OpKind::kInstanceNorm,
                               OpKind::kAttention};

bool Contains(auto&& list, const auto& item) {
  return std::ranges::find(list, item) != std::ranges::end(list);
}

std::string WithoutUnderscore(std::string target) {
  if (target.size() > 1 && target.ends_with('_')) target.pop_back();
  return target;
}

bool UpdatesInPlace(const Node& node) {
  return node.target.ends_with('_') && node.kind != OpKind::kView;
}

class DraftMaker {
 public:
  explicit DraftMaker(const OperatorGraph& graph)
      : graph_(graph),
        tensor_of_(graph.values().size(), kNone),
        is_written_(graph.storages().size(), false) {
    draft_.graph = &graph;
    for (const Node& node : graph.nodes()) {
      if (!UpdatesInPlace(node)) continue;
      for (const ValueId id : node.outputs) {
        is_written_[static_cast<std::size_t>(graph.value(id).storage)] = true;
      }
    }
  }

  Draft Make() {
    for (const ValueId id : graph_.inputs()) {
      draft_.inputs.push_back(Tensor(id));
    }
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) Add(id);
    for (const ValueId id : graph_.outputs()) {
      draft_.outputs.push_back(Tensor(id));
    }
    return std::move(draft_);
  }

 private:
  TensorId Tensor(ValueId id) {
    TensorId& tensor = tensor_of_[IndexOf(id)];
    if (tensor != kNone) return tensor;
    const Value& value = graph_.value(id);
    tensor = draft_.AddTensor(value.type, value.name);
    if (value.producer == kNone) {
      DraftTensor& source = draft_.tensors.back();
      source.source = id;
      source.constant = IsSourceRole(graph_.storage(value.storage).role) &&
                        !is_written_[static_cast<std::size_t>(value.storage)];
    }
    return tensor;
  }

  bool IsDropped(const Node& node) const {
    return !node.inputs.empty() && node.outputs.size() == 1 &&
           Contains(kDropped, WithoutUnderscore(node.target)) &&
           graph_.value(node.inputs[0]).type ==
               graph_.value(node.outputs[0]).type;
  }

  void Add(NodeId id) {
    const Node& node = graph_.node(id);
    if (IsDropped(node)) {
      tensor_of_[static_cast<std::size_t>(node.outputs[0])] =
          Tensor(node.inputs[0]);
      return;
    }
    DraftNode made{.target = WithoutUnderscore(node.target),
                   .kind = node.kind,
                   .scope = node.scope,
                   .inputs = {},
                   .outputs = {},
                   .attributes = node.attributes};
    for (const ValueId input : node.inputs) {
      made.inputs.push_back(Tensor(input));
    }
    for (const ValueId output : node.outputs) {
      made.outputs.push_back(Tensor(output));
    }
    made.writes = UpdatesInPlace(node) && !node.inputs.empty() &&
                  graph_.value(node.inputs[0]).producer == kNone;
    if (Contains(kOfCalls, node.kind) && !node.calls.empty()) {
      made.target = node.target;
      made.recorded = id;
    }
    SetCopies(made);
    draft_.nodes.push_back(std::move(made));
  }

  static void SetCopies(DraftNode& node) {
    if (node.kind != OpKind::kView) return;
    const auto* const copy =
        std::ranges::find(kCopyingViews, node.target,
                          [](const auto& pair) { return pair.first; });
    if (copy == std::end(kCopyingViews)) {
      node.aliases = node.outputs.size() == 1 && !node.inputs.empty();
      return;
    }
    node.target = copy->second;
    node.kind = OpKind::kCopy;
  }

  const OperatorGraph& graph_;
  Draft draft_;
  std::vector<TensorId> tensor_of_;  ///< By recorded value.
  std::vector<bool> is_written_;     ///< By recorded storage.
};

}  // namespace

TensorId Draft::AddTensor(TensorType type, std::string name) {
  if (name.empty()) name = fmt::format("ort.{}", tensors.size());
  tensors.push_back({.name = std::move(name), .type = std::move(type)});
  return static_cast<TensorId>(tensors.size() - 1);
}

Node AsNode(const DraftNode& node) {
  return {
      .target = node.target, .kind = node.kind, .attributes = node.attributes};
}

DraftNode MakeNode(std::string_view target, std::vector<TensorId> inputs,
                   TensorId output, const std::string& scope,
                   Attributes attributes) {
  return {.target = std::string(target),
          .kind = OpKindOf(target),
          .scope = scope,
          .inputs = std::move(inputs),
          .outputs = {output},
          .attributes = std::move(attributes)};
}

DraftNode Fuse(std::string_view target, std::vector<DraftNode> parts) {
  DraftNode fused{.target = std::string(target),
                  .kind = OpKindOf(target),
                  .scope = parts.back().scope,
                  .inputs = {},
                  .outputs = parts.back().outputs,
                  .attributes = {}};
  std::vector<TensorId> made;
  for (const DraftNode& part : parts) {
    for (const TensorId id : part.inputs) {
      if (!Contains(made, id) && !Contains(fused.inputs, id)) {
        fused.inputs.push_back(id);
      }
    }
    made.insert(made.end(), part.outputs.begin(), part.outputs.end());
  }
  fused.calls = std::move(parts);
  return fused;
}

Uses::Uses(const Draft& draft)
    : producer_(draft.tensors.size(), -1),
      reader_(draft.tensors.size(), -1),
      count_(draft.tensors.size(), 0) {
  for (std::size_t i = 0; i < draft.nodes.size(); ++i) {
    const DraftNode& node = draft.nodes[i];
    if (node.target.empty()) continue;
    const auto index = static_cast<std::ptrdiff_t>(i);
    for (const TensorId id : node.outputs) producer_[IndexOf(id)] = index;
    for (const TensorId id : node.inputs) {
      ++count_[IndexOf(id)];
      reader_[IndexOf(id)] = index;
    }
  }
  for (const TensorId id : draft.outputs) {
    ++count_[IndexOf(id)];
    reader_[IndexOf(id)] = -1;
  }
}

void Replace(Draft& draft, TensorId from, TensorId to) {
  for (DraftNode& node : draft.nodes) {
    std::ranges::replace(node.inputs, from, to);
  }
  std::ranges::replace(draft.outputs, from, to);
}

void DropUnused(Draft& draft) {
  std::vector<bool> is_read(draft.tensors.size(), false);
  const auto read = [&is_read](TensorId id) { is_read[IndexOf(id)] = true; };
  std::ranges::for_each(draft.outputs, read);
  for (auto node = draft.nodes.rbegin(); node != draft.nodes.rend(); ++node) {
    const bool is_used = node->outputs.empty() || node->writes ||
                         std::ranges::any_of(node->outputs, [&](TensorId id) {
                           return is_read[IndexOf(id)];
                         });
    if (!is_used) node->target.clear();
    if (!node->target.empty()) std::ranges::for_each(node->inputs, read);
  }
  std::erase_if(draft.nodes,
                [](const DraftNode& node) { return node.target.empty(); });
}

Draft MakeDraft(const OperatorGraph& graph) { return DraftMaker(graph).Make(); }

}  // namespace foretell::runtime::ort
