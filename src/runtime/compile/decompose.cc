#include "src/runtime/compile/decompose.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "src/graph/attributes.h"
#include "src/graph/convolution.h"
#include "src/graph/kind_sets.h"
#include "src/graph/recurrent_layer.h"
#include "src/runtime/compile/decompose_attention.h"
#include "src/runtime/compile/decompose_losses.h"
#include "src/runtime/compile/decompose_norms.h"
#include "src/runtime/compile/decompose_triangle.h"
#include "src/runtime/compile/image_layout.h"
#include "src/runtime/compile/primitive_emitter.h"
#include "src/runtime/compile/products.h"

// From recorded operators to what Inductor lowers
// (torch/_inductor/decomposition.py and torch/_decomp of PyTorch 2.13).
//
//   norms, softmaxes     sums along rows and operators element by element
//   negative likelihood  a gather and sums; backward, no probability is read
//   x.add_(y)            x1 = x.add(y): later readers of x read x1
//   products             with operands that are copied, cast or padded
//                        (products.cc)
//   mean of images       adaptive pooling to one element is a sum
//   zeros_like(x)        a constant, which reads nothing of x; expand_as and
//                        type_as read only what they look at or convert
//   broadcast_tensors    an expansion of each
//   x.to(its own type)   x (remove_noop_ops, fx_passes/post_grad.py)
//   tril, triu           a comparison (decompose_triangle.cc)
//   dropout              random numbers, which are made again in the backward
//                        pass, and a product
//   composites           the operators that the trace saw inside; recurrent
//                        layers and attention with a fused kernel stay whole
//
// The conditions of an operator that is no primitive itself and stays are its
// kernel's: convolutions, products, sorts and everything without a rule.

namespace foretell::runtime {
namespace {

/// Their second operand gives a shape or a type.
constexpr auto kWithModel = std::to_array<std::string_view>(
    {"expand_as", "view_as", "reshape_as", "type_as"});

bool SharesStorage(const OperatorGraph& graph, ValueId a, ValueId b) {
  return graph.value(a).storage == graph.value(b).storage;
}

/// An operator that returns its first operand, with other content.
bool IsInPlace(const OperatorGraph& graph, const Node& node) {
  return node.target.ends_with('_') && node.kind != OpKind::kView &&
         node.outputs.size() == 1 && !node.inputs.empty() &&
         SharesStorage(graph, node.inputs[0], node.outputs[0]);
}

/// Whether the storage outlives the step, or is seen through other tensors of
/// which the operand is only a part.
bool MustUpdate(const OperatorGraph& graph, ValueId id) {
  const Value& value = graph.value(id);
  const Storage& storage = graph.storage(value.storage);
  return IsSourceRole(storage.role) || value.producer == kNone ||
         storage.role == TensorRole::kOptimizerState ||
         value.type.Bytes() < storage.bytes;
}

bool CallsAttention(const Node& node) {
  return std::ranges::any_of(node.calls, [](const Node& call) {
    return call.kind == OpKind::kAttention ||
           call.kind == OpKind::kAttentionBackward;
  });
}

bool StaysWhole(const Node& node) {
  return node.calls.empty() || IsRecurrentLayer(node) ||
         node.kind == OpKind::kRecurrentBackward || CallsAttention(node);
}

class Decomposer {
 public:
  Decomposer(const OperatorGraph& graph, GraphInfo info,
             const TorchVersion& torch)
      : graph_(graph),
        emitter_(graph, std::move(info), PrefersChannelsLast(graph)),
        attention_(emitter_, torch),
        fuses_scatters_(torch >= kFusedScatters) {}

  OperatorGraph Run() {
    for (const Node& node : graph_.nodes()) {
      emitter_.Begin(node);
      Add(node);
    }
    return emitter_.Finish();
  }

 private:
  void Add(const Node& node) {
    if (node.phase == Phase::kOptimizer) return emitter_.Copy(node, true);
    if (DecomposeNorm(emitter_, node) ||
        DecomposeLoss(emitter_, node, fuses_scatters_) ||
        attention_.Add(node)) {
      return;
    }
    if (DecomposeTriangle(emitter_, node) || AddFill(node) ||
        AddBiasGradient(node) || AddMean(node) || AddDropout(node)) {
      return;
    }
    if (DecomposeProduct(emitter_, node) || AddPool(node) ||
        AddPoolBackward(node) || AddReluBackward(node) ||
        AddGatherBackward(node) || AddCopied(node) || AddSameTensor(node) ||
        AddWithoutModels(node) || AddViews(node)) {
      return;
    }
    if (!StaysWhole(node)) return AddCalls(node);
    if (IsInPlace(graph_, node)) return AddInPlace(node);
    AddUnchanged(node);
  }

  void AddUnchanged(const Node& node) {
    if (IsPlain(node)) return emitter_.CopyFunctional(node, node.target);
    emitter_.Copy(node, true);
  }

  /// No result shares a storage, but by a choice of LibTorch's where to write,
  /// and there are no calls.
  bool IsPlain(const Node& node) const {
    if (node.outputs.empty() || !node.calls.empty()) return false;
    if (IsElementwiseKind(node.kind) && !node.target.ends_with('_')) {
      return true;
    }
    return std::ranges::none_of(node.outputs, [&](ValueId output) {
      return std::ranges::any_of(node.inputs, [&](ValueId input) {
        return SharesStorage(graph_, input, output);
      });
    });
  }

  void AddCalls(const Node& node) {
    for (std::size_t i = 0; i < node.calls.size(); ++i) {
      if (AddZeroRows(node.calls, i)) continue;
      EmitUnmade(node.calls[i]);
      Add(node.calls[i]);
    }
    for (const ValueId id : node.outputs) {
      if (emitter_.Now(id) == kNone) SetKept(node, id);
    }
    // What no call produced.
    for (const ValueId id : node.outputs) {
      if (emitter_.Now(id) == kNone) return emitter_.Copy(node, false);
    }
  }

  /// _safe_softmax writes zeros into rows that are masked as a whole: a tensor
  /// of its result's size, where LibTorch takes a scalar.
  bool AddZeroRows(std::span<const Node> calls, std::size_t i) {
    if (i == 0 || i + 1 == calls.size() || calls[i - 1].target != "all" ||
        calls[i].target != "scalar_tensor" || calls[i + 1].target != "where") {
      return false;
    }
    emitter_.Set(
        calls[i].outputs[0],
        emitter_.Emit("full", {}, graph_.value(calls[i + 1].outputs[0]).type,
                      calls[i].attributes));
    return true;
  }

  /// A result that the backward pass reads is that of a call in its storage.
  void SetKept(const Node& node, ValueId id) {
    for (const Node& call : node.calls) {
      for (const ValueId made : call.outputs) {
        if (SharesStorage(graph_, made, id) &&
            graph_.value(made).type == graph_.value(id).type) {
          emitter_.Set(id, emitter_.Now(made));
        }
      }
    }
  }

  /// Operands of a call that no call made: allocated there.
  void EmitUnmade(const Node& call) {
    if (IsFilled(call)) return;
    for (const ValueId id : call.inputs) {
      if (emitter_.Now(id) != kNone) continue;
      emitter_.Set(id, emitter_.Emit("empty", {}, graph_.value(id).type));
    }
  }

  /// An activation in place of which autograd copied the operand before: the
  /// copy is the operand.
  bool AddCopied(const Node& node) {
    if (!node.target.ends_with('_') || node.outputs.size() != 2 ||
        node.inputs.size() != 1 ||
        !SharesStorage(graph_, node.inputs[0], node.outputs[0]) ||
        graph_.value(node.outputs[1]).type !=
            graph_.value(node.inputs[0]).type) {
      return false;
    }
    const ValueId before = emitter_.Now(node.inputs[0]);
    emitter_.Set(node.outputs[1], before);
    emitter_.Set(
        node.outputs[0],
        emitter_.Emit(node.target.substr(0, node.target.size() - 1), {before},
                      graph_.value(node.outputs[0]).type, node.attributes));
    emitter_.Set(node.inputs[0], emitter_.Now(node.outputs[0]));
    return true;
  }

  /// A conversion to the type that its operand has: the operand.
  bool AddSameTensor(const Node& node) {
    if (node.kind != OpKind::kCast || node.outputs.size() != 1 ||
        node.inputs.empty() ||
        !SharesStorage(graph_, node.inputs[0], node.outputs[0])) {
      return false;
    }
    emitter_.Set(node.outputs[0], emitter_.Now(node.inputs[0]));
    return true;
  }

  /// Leaves out operands of which an operator needs the shape or the type.
  bool AddWithoutModels(const Node& node) {
    // Two tensors without content are never the same one, and the backward
    // pass begins with a constant whose operand is the loss.
    const bool is_constant =
        node.kind == OpKind::kFill && node.phase == Phase::kForward &&
        !node.target.ends_with('_') &&
        node.target.find("empty") == std::string::npos && IsPlain(node);
    const std::size_t read = is_constant ? 0 : 1;
    if (node.inputs.size() <= read) return false;
    if (!is_constant && std::ranges::count(kWithModel, node.target) == 0) {
      return false;
    }
    Node alone = node;
    alone.inputs.resize(read);
    AddUnchanged(alone);
    return true;
  }

  /// Views of several tensors, one of each (broadcast_tensors).
  bool AddViews(const Node& node) {
    if (node.kind != OpKind::kView || node.outputs.size() < 2 ||
        !std::ranges::equal(node.inputs, node.outputs,
                            [this](ValueId input, ValueId output) {
                              return SharesStorage(graph_, input, output);
                            })) {
      return false;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      Node view = node;
      view.target = "expand";
      view.attributes.clear();
      view.inputs = {node.inputs[i]};
      view.outputs = {node.outputs[i]};
      emitter_.Copy(view, false);
    }
    return true;
  }

  void AddInPlace(const Node& node) {
    const ValueId target = node.inputs.front();
    if (MustUpdate(graph_, target)) return emitter_.Copy(node, false);
    emitter_.CopyFunctional(
        node, node.target.substr(0, node.target.find_last_not_of('_') + 1));
    emitter_.Set(target, emitter_.Now(node.outputs.front()));
  }

  bool IsFilled(const Node& node) const {
    return node.target == "fill_" && node.inputs.size() == 1 &&
           IsInPlace(graph_, node) && !MustUpdate(graph_, node.inputs[0]);
  }

  /// Reads nothing of what was there.
  bool AddFill(const Node& node) {
    if (!IsFilled(node)) return false;
    const ValueId id = node.outputs[0];
    emitter_.Set(
        id, emitter_.Emit("full", {}, graph_.value(id).type, node.attributes));
    emitter_.Set(node.inputs[0], emitter_.Now(id));
    return true;
  }

  /// The gradient of a bias is a sum.
  bool AddBiasGradient(const Node& node) {
    if (node.target != "convolution_backward" || node.outputs.size() < 3) {
      return false;
    }
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(emitter_.Now(id));
    const std::vector<ValueId> results =
        emitter_.EmitAll(node.target, inputs,
                         {graph_.value(node.outputs[0]).type,
                          graph_.value(node.outputs[1]).type},
                         node.attributes);
    emitter_.Set(node.outputs[0], results[0]);
    emitter_.Set(node.outputs[1], results[1]);
    std::vector<std::int64_t> dims = {0};
    for (std::size_t i = 2; i < emitter_.TypeOf(inputs[0]).shape.size(); ++i) {
      dims.push_back(static_cast<std::int64_t>(i));
    }
    emitter_.Set(
        node.outputs[2],
        emitter_.Emit("sum", {inputs[0]}, graph_.value(node.outputs[2]).type,
                      {{"dim", dims}}));
    return true;
  }

  bool AddMean(const Node& node) {
    if (!node.target.starts_with("adaptive_avg_pool")) return false;
    const TensorType& type = graph_.value(node.outputs[0]).type;
    if (node.inputs.empty() || type.shape.size() < 3) return false;
    std::vector<std::int64_t> dims;
    for (std::int64_t i = 2; i < std::ssize(type.shape); ++i) {
      if (type.shape[static_cast<std::size_t>(i)] != 1) return false;
      dims.push_back(i);
    }
    emitter_.Set(node.outputs[0],
                 emitter_.Emit("mean", {emitter_.Now(node.inputs[0])}, type,
                               {{"dim", dims}, {"keepdim", true}}));
    return true;
  }

  bool AddDropout(const Node& node) {
    if (node.kind != OpKind::kDropout || node.inputs.empty() ||
        node.phase != Phase::kForward || !FlagOf(node, "train", true) ||
        node.outputs.empty() ||
        SharesStorage(graph_, node.inputs[0], node.outputs[0])) {
      return false;
    }
    TensorType type = graph_.value(node.outputs[0]).type;
    TensorType numbers = type;
    numbers.dtype = DType::kF32;
    const ValueId random = emitter_.Emit("rand", {}, numbers);
    TensorType mask = type;
    mask.dtype = DType::kBool;
    const ValueId kept = emitter_.Emit("gt", {random}, mask);
    emitter_.Set(node.outputs[0],
                 emitter_.Emit("mul", {emitter_.Now(node.inputs[0]), kept},
                               std::move(type)));
    if (node.outputs.size() > 1) emitter_.Set(node.outputs[1], kept);
    return true;
  }

  /// Keeps offsets inside a window, of a byte each, and makes indices of them
  /// in the backward pass (_low_memory_max_pool_with_offsets).
  bool AddPool(const Node& node) {
    if (node.kind != OpKind::kMaxPool || node.outputs.size() != 2) return false;
    const TensorType& indices = graph_.value(node.outputs[1]).type;
    const std::vector<ValueId> results = emitter_.EmitAll(
        node.target, {emitter_.Now(node.inputs[0])},
        {graph_.value(node.outputs[0]).type, {DType::kI8, indices.shape}},
        node.attributes);
    emitter_.Set(node.outputs[0], results[0]);
    emitter_.Set(node.outputs[1], emitter_.Emit("to", {results[1]}, indices));
    return true;
  }

  /// A scatter of the gradient (grad, self, indices), which does not read what
  /// was pooled.
  bool AddPoolBackward(const Node& node) {
    if (node.target != "max_pool2d_with_indices_backward" || !fuses_scatters_) {
      return false;
    }
    emitter_.Set(
        node.outputs[0],
        emitter_.Emit(
            node.target,
            {emitter_.Now(node.inputs[0]), emitter_.Now(node.inputs[2])},
            graph_.value(node.outputs[0]).type, node.attributes));
    return true;
  }

  /// A scatter of the gradient (grad, self, indices) into zeros, which does not
  /// read what was gathered from.
  bool AddGatherBackward(const Node& node) {
    if (node.target != "gather_backward") return false;
    const TensorType& type = graph_.value(node.outputs[0]).type;
    const ValueId zeros = emitter_.Emit("full", {}, type);
    emitter_.Set(node.outputs[0],
                 emitter_.Emit("scatter_add",
                               {zeros, emitter_.Now(node.inputs[2]),
                                emitter_.Now(node.inputs[0])},
                               type, node.attributes));
    return true;
  }

  /// where(output <= threshold, 0, gradient): a byte per element is kept where
  /// nothing else needs the output.
  bool AddReluBackward(const Node& node) {
    if (node.target != "threshold_backward") return false;
    TensorType mask = graph_.value(node.inputs[1]).type;
    mask.dtype = DType::kBool;
    const ValueId is_zero =
        emitter_.Emit("le", {emitter_.Now(node.inputs[1])}, std::move(mask));
    emitter_.Set(node.outputs[0],
                 emitter_.Emit("where", {is_zero, emitter_.Now(node.inputs[0])},
                               graph_.value(node.outputs[0]).type));
    return true;
  }

  const OperatorGraph& graph_;
  PrimitiveEmitter emitter_;
  AttentionDecomposer attention_;
  bool fuses_scatters_;
};

}  // namespace

OperatorGraph Decompose(const OperatorGraph& graph, const RuntimeSpec& spec,
                        const TorchVersion& torch) {
  GraphInfo info = graph.info();
  info.runtime = spec;
  return Decomposer(graph, std::move(info), torch).Run();
}

}  // namespace foretell::runtime
