// Operators to kernels. Per node, in order:
//
//   constants   tables of integers launch nothing
//   views       launch nothing where the trace made them in place, else copy
//   calls       the kernels of the operators that it calls, in this order
//   layout      copies inside the operator
//   kernel      its own, and what it launches in addition
//
// The graph alone shows too little of this: copies that no operator names are
// much of a network's time. Casts of autocast are nodes.

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "foretell/error.h"
#include "src/core/checked.h"
#include "src/graph/attributes.h"
#include "src/graph/recurrent_layer.h"
#include "src/graph/unfolded_convolution.h"
#include "src/kernels/constants.h"
#include "src/kernels/expansion.h"
#include "src/kernels/node_operands.h"

namespace foretell::cost {
namespace {

/// True if the node launches nothing, or is a collective, whose time is not a
/// kernel's.
bool IsFree(const OperatorGraph& graph, const Node& node) {
  return node.outputs.empty() || node.kind == OpKind::kCollective ||
         (!node.inputs.empty() && IsAlias(graph, node));
}

/// Bytes of an element of the operand that decides how a kernel reads.
std::int64_t ElementBytesIn(const Expansion& expansion,
                            const ExpandedNode& expanded) {
  if (expanded.operands.empty()) return 0;
  const auto first = std::ranges::find_if(expanded.operands, [&](ValueId id) {
    return expansion.tensors.IsFloat(id);
  });
  return expansion.tensors.ElementBytes(
      first == expanded.operands.end() ? expanded.operands.front() : *first);
}

/// Bytes of the indices that a maximum pooling on CUDA writes, whether the
/// operator returns them or not.
std::int64_t DroppedIndexBytes(const Expansion& expansion, const Node& node) {
  constexpr std::int64_t kIndexBytes = 8;
  const bool drops = node.kind == OpKind::kMaxPool && node.outputs.size() == 1;
  return drops ? kIndexBytes * expansion.tensors.Elements(node.outputs.front())
               : 0;
}

void CountBytes(const Expansion& expansion, const ExpandedNode& expanded,
                Kernel& kernel) {
  const Tensors& tensors = expansion.tensors;
  const OpKind kind = expanded.node.kind;
  for (const ValueId id : expanded.operands) CountRead(tensors, id, kernel);
  for (const ValueId id : expanded.node.outputs) {
    kernel.bytes_out += tensors.Bytes(id);
  }
  kernel.bytes_out += DroppedIndexBytes(expansion, expanded.node);
  const bool picks = kind == OpKind::kGather || kind == OpKind::kEmbedding;
  if (picks && expanded.node.target != "col2im") {
    kernel.bytes_in = std::min(kernel.bytes_in, kernel.bytes_out);
    kernel.bytes_weight = std::min(kernel.bytes_weight, kernel.bytes_out);
  }
  if (kind == OpKind::kFill || kind == OpKind::kRandom) kernel.bytes_in = 0;
  kernel.element_bytes_in = ElementBytesIn(expansion, expanded);
  kernel.element_bytes_out = tensors.ElementBytes(expanded.result());
}

void ExpandOwnKernel(Expansion& expansion, const ExpandedNode& expanded,
                     const LayoutEffect& layout) {
  Kernel kernel = {.node = expanded.id,
                   .channels_last = layout.channels_last,
                   .mixed_layouts = layout.mixed,
                   .transposes = layout.transposes};
  CountBytes(expansion, expanded, kernel);
  DescribeKernel(expansion, expanded, kernel);
  ExpandBefore(expansion, expanded, kernel);
  const bool restores = expansion.mode.restore_folded_norms &&
                        HasFoldedNorm(expansion.graph, expanded.node);
  if (RunsUnfolded(expansion.graph, expanded.node, expansion.mode.torch)) {
    ExpandUnfolded(expansion, expanded,
                   IsBiasedConvolution(expanded.node) && !restores);
  } else {
    expansion.kernels.push_back(kernel);
    if (!restores) ExpandBias(expansion, expanded, kernel);
  }
  if (restores) ExpandFoldedNorm(expansion, kernel);
}

/// A cast between floating-point types, autocast's or the program's.
bool IsFloatCast(const Expansion& expansion, const Node& node) {
  if (node.kind != OpKind::kCast || node.inputs.empty()) return false;
  const Tensors& tensors = expansion.tensors;
  const ValueId from = node.inputs.front();
  const ValueId to = node.outputs.front();
  return tensors.IsFloat(from) && tensors.IsFloat(to) &&
         expansion.graph.value(from).type.dtype !=
             expansion.graph.value(to).type.dtype;
}

/// Requires IsFloatCast. One of a parameter happens once per step.
void ExpandCast(Expansion& expansion, const Node& node, NodeId id) {
  const Tensors& tensors = expansion.tensors;
  const ValueId from = node.inputs.front();
  const ValueId to = node.outputs.front();
  const bool is_down = tensors.ElementBytes(to) < tensors.ElementBytes(from);
  const bool is_weight = is_down && tensors.IsWeight(from);
  const bool is_half = tensors.ElementBytes(from) == kHalfBytes;
  expansion.kernels.push_back(
      {.kernel_class = is_weight ? KernelClass::kCastWeight
                       : is_down ? KernelClass::kCastDown
                                 : KernelClass::kCastUp,
       .node = id,
       .bytes_in = is_weight ? 0 : tensors.Bytes(from),
       .bytes_weight = is_weight ? tensors.Bytes(from) : 0,
       .bytes_out = tensors.Elements(from) * tensors.ElementBytes(to),
       .rows = tensors.Elements(from),
       .row_elements = 1,
       .loop = is_half ? ElementLoop::kUnrolled : ElementLoop::kNone,
       .element_bytes_in = tensors.ElementBytes(from),
       .element_bytes_out = tensors.ElementBytes(to)});
}

/// Launches `kernel` of `call` that many times.
void Repeat(Kernel& kernel, const Node& call, std::int64_t times) {
  const std::optional<std::int64_t> count = CheckedMul(kernel.count, times);
  if (!count) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("operator {} calls {} {} times, {} kernels each: "
                            "all launches exceed int64",
                            kernel.node, call.target, times, kernel.count));
  }
  kernel.count = *count;
}

/// Emits the kernels of the calls that the trace saw inside of an operator.
/// False, and nothing done, if it saw none.
bool ExpandCalls(Expansion& expansion, const ExpandedNode& expanded) {
  const Node& node = expanded.node;
  std::vector<Kernel>& kernels = expansion.kernels;
  for (const Node& call : node.calls) {
    const std::size_t first = kernels.size();
    ExpandNode(expansion, call, expanded.id);
    const std::int64_t times = call.Int(kTimesAttribute, 1);
    for (std::size_t i = first; i < kernels.size(); ++i) {
      Repeat(kernels[i], call, times);
      kernels[i].repeated = times > 1 && IsRecurrentLayer(node);
    }
  }
  return !node.calls.empty();
}

/// Requires that launches can be counted together; all else of a kernel is
/// bounded by the tensors that it moves.
void RequireCountable(const std::vector<Kernel>& kernels) {
  std::int64_t launches = 0;
  for (const Kernel& kernel : kernels) {
    if (!__builtin_add_overflow(launches, kernel.count, &launches)) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("operator {} repeats kernels {} times, all "
                            "launches exceed int64",
                            kernel.node, kernel.count));
  }
}

}  // namespace

void ExpandNode(Expansion& expansion, const Node& node, NodeId id) {
  if (IsFree(expansion.graph, node)) return;
  if (IsFloatCast(expansion, node)) return ExpandCast(expansion, node, id);
  const ExpandedNode expanded = {node, id, ReadOperands(expansion.graph, node)};
  if (ExpandFused(expansion, expanded)) return;
  if (ExpandCalls(expansion, expanded)) return;
  if (ExpandLoss(expansion, expanded)) return;
  const LayoutEffect layout = ExpandLayout(expansion, expanded);
  if (IsConvolutionGradient(node)) {
    ExpandConvolutionGradients(expansion, expanded);
  } else {
    ExpandOwnKernel(expansion, expanded, layout);
    ExpandResultCopies(expansion, expanded);
  }
}

std::vector<Kernel> ExpandKernels(const OperatorGraph& graph, const Run& run) {
  Expansion expansion(graph, run);
  const std::vector<bool> varying = VaryingValues(graph);
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    const Node& node = graph.node(id);
    if (!IsConstantTable(graph, node, varying)) ExpandNode(expansion, node, id);
  }
  RequireCountable(expansion.kernels);
  for (Kernel& kernel : expansion.kernels) kernel.torch = run.torch;
  return std::move(expansion.kernels);
}

Kernel WorkOf(Kernel kernel) {
  kernel.node = kNone;
  kernel.count = 0;
  return kernel;
}

std::vector<Kernel> MergeEqual(const std::vector<Kernel>& kernels) {
  std::vector<Kernel> merged;
  std::map<Kernel, std::size_t> places;
  for (const Kernel& kernel : kernels) {
    const auto [place, is_new] =
        places.try_emplace(WorkOf(kernel), merged.size());
    if (is_new) {
      merged.push_back(kernel);
    } else {
      merged[place->second].count += kernel.count;
    }
  }
  return merged;
}

}  // namespace foretell::cost
