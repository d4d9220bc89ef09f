// What a runtime other than eager PyTorch makes one kernel of, as
// src/runtime/README.md writes it:
//
//   fused_elementwise  a kernel of its own, over its operands and results
//   fused_reduce       the same, along the rows of the reductions inside
//   a product          its own kernel, which also reads what the operators in
//                      its epilogue do, and adds its bias
//
// Values inside stay in registers. So these kernels cost what they move; the
// operators inside only say in how long rows a reduction goes, and which
// operands are looked up rather than read.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "src/graph/attributes.h"
#include "src/graph/compiled_call.h"
#include "src/graph/kind_sets.h"
#include "src/kernels/expansion.h"

namespace foretell::cost {
namespace {

constexpr std::string_view kFusedElementwise = "fused_elementwise";
constexpr std::string_view kFusedReduce = "fused_reduce";
/// What computing an error function takes, in elements of a window: GELUs in 16
/// bits on an H200 (compile.jsonl.gz), which are not bound by memory there.
constexpr std::int64_t kErrorFunctionElements = 2;
/// Inputs of a product that it needs, at least.
constexpr std::size_t kFactors = 2;

bool TakesEpilogue(const Node& node) { return IsProductKind(node.kind); }

bool Reads(const Node& call, ValueId id) {
  return std::ranges::count(call.inputs, id) > 0;
}

/// Elements of its first operand, or of its result, that `call` touches if it
/// looks them up or adds to them; 0 if it goes over all.
std::int64_t Touched(const Tensors& tensors, const Node& call) {
  if (call.kind == OpKind::kScatter && call.target.ends_with('_')) {
    return NumElements(tensors.ShapeOf(call.inputs.back()));
  }
  const bool looks_up =
      call.kind == OpKind::kEmbedding || call.kind == OpKind::kGather;
  return looks_up && !call.outputs.empty()
             ? NumElements(tensors.ShapeOf(call.outputs.front()))
             : 0;
}

/// Elements that calls look up in `id`; 0 if one of them reads it all.
std::int64_t LookedUp(const Expansion& expansion, const Node& node,
                      ValueId id) {
  std::int64_t elements = 0;
  for (const Node& call : node.calls) {
    if (!Reads(call, id)) continue;
    const std::int64_t touched = Touched(expansion.tensors, call);
    if (touched == 0 || call.inputs.front() != id) return 0;
    elements += touched;
  }
  return elements;
}

/// Elements that are added to `id`; 0 if it is written as a whole.
std::int64_t Scattered(const Expansion& expansion, const Node& node,
                       ValueId id) {
  const auto writer = std::ranges::find_if(node.calls, [id](const Node& call) {
    return call.kind == OpKind::kScatter &&
           std::ranges::count(call.outputs, id) > 0;
  });
  return writer == node.calls.end() ? 0 : Touched(expansion.tensors, *writer);
}

void CountOperands(const Expansion& expansion, const ExpandedNode& expanded,
                   Kernel& kernel) {
  const Tensors& tensors = expansion.tensors;
  for (const ValueId id : expanded.operands) {
    const std::int64_t looked_up = LookedUp(expansion, expanded.node, id);
    const std::int64_t whole = tensors.Bytes(id);
    (tensors.IsWeight(id) ? kernel.bytes_weight : kernel.bytes_in) +=
        looked_up > 0 ? std::min(whole, looked_up * tensors.ElementBytes(id))
                      : whole;
    kernel.element_bytes_in =
        std::max(kernel.element_bytes_in, tensors.ElementBytes(id));
  }
  for (const ValueId id : expanded.node.outputs) {
    const std::int64_t added = Scattered(expansion, expanded.node, id);
    const std::int64_t whole = tensors.Bytes(id);
    kernel.bytes_out +=
        added > 0 ? std::min(whole, added * tensors.ElementBytes(id)) : whole;
  }
  kernel.element_bytes_out = tensors.ElementBytes(expanded.result());
  kernel.inner_extent = LastOf(tensors.ShapeOf(expanded.result()));
}

/// Elements that `call` goes over for each result or, if it keeps the shape, in
/// each of its rows; 1 if it has no rows.
std::int64_t RowOf(const Expansion& expansion, const Node& call) {
  if (call.inputs.empty() || call.outputs.empty()) return 1;
  const Shape& input = expansion.tensors.ShapeOf(call.inputs.front());
  const Shape& result = expansion.tensors.ShapeOf(call.outputs.front());
  switch (call.kind) {
    case OpKind::kReduce:
    case OpKind::kArgReduce:
      return Ratio(NumElements(input), NumElements(result));
    case OpKind::kLayerNorm:
    case OpKind::kRmsNorm:
    case OpKind::kSoftmax:
    case OpKind::kSoftmaxBackward:
      return LastOf(input);
    default:
      return 1;
  }
}

bool ComputesErrorFunction(const Node& call) {
  return call.target.starts_with("erf") ||
         (call.target.starts_with("gelu") &&
          TextOf(call, "approximate") != "tanh");
}

/// Elements that `call` goes over for each of its results, if it is a pooling;
/// of an error function, as many as take that long; else 0.
std::int64_t WindowOf(const Node& call) {
  if (ComputesErrorFunction(call)) return kErrorFunctionElements;
  const bool pools = call.kind == OpKind::kMaxPool ||
                     call.kind == OpKind::kAveragePool ||
                     call.kind == OpKind::kPoolBackward;
  if (!pools) return 0;
  Shape window = call.Ints("kernel_size", {1});
  if (window.size() == 1) window.push_back(window.front());
  return NumElements(window);
}

/// The windows of the calls inside, together.
void SetWindows(const Expansion& expansion, const Node& node, Kernel& kernel) {
  for (const Node& call : node.calls) {
    const std::int64_t window = WindowOf(call);
    if (window == 0 || call.outputs.empty()) continue;
    kernel.rows =
        std::max(kernel.rows,
                 NumElements(expansion.tensors.ShapeOf(call.outputs.front())));
    kernel.row_elements += window;
  }
}

/// Rows as long as the longest among the calls.
void SetFusedRows(const Expansion& expansion, const Node& node,
                  Kernel& kernel) {
  kernel.row_step = 1;
  for (const Node& call : node.calls) {
    if (call.inputs.empty()) continue;
    const std::int64_t row = RowOf(expansion, call);
    if (row <= kernel.row_elements) continue;
    kernel.row_elements = row;
    kernel.rows =
        Ratio(NumElements(expansion.tensors.ShapeOf(call.inputs.front())), row);
  }
  kernel.inner_extent = kernel.row_elements;
}

/// The product alone; what its epilogue reads is not among its inputs, and
/// neither is the bias of a convolution.
Node WithoutEpilogue(const Node& node) {
  Node product = node;
  product.calls.clear();
  const auto own = std::ranges::find_if(node.inputs, [&](ValueId id) {
    return std::ranges::any_of(
        node.calls, [&](const Node& call) { return Reads(call, id); });
  });
  const auto count =
      static_cast<std::size_t>(std::distance(node.inputs.begin(), own));
  const bool adds_bias = IsBiasedConvolution(node);
  product.inputs.resize(std::clamp(count,
                                   std::min(kFactors, node.inputs.size()),
                                   adds_bias ? kFactors : node.inputs.size()));
  return product;
}

void ExpandProductWithEpilogue(Expansion& expansion,
                               const ExpandedNode& expanded) {
  const Node product = WithoutEpilogue(expanded.node);
  const std::size_t first = expansion.kernels.size();
  ExpandNode(expansion, product, expanded.id);
  const auto added = std::span(expansion.kernels).subspan(first);
  const auto last = std::ranges::find_if(
      added.rbegin(), added.rend(),
      [](const Kernel& kernel) { return kernel.macs > 0; });
  if (last == added.rend()) return;
  for (const ValueId id : expanded.operands) {
    if (std::ranges::count(product.inputs, id) > 0) continue;
    CountRead(expansion.tensors, id, *last);
  }
}

}  // namespace

bool HasEpilogue(const OperatorGraph& graph, const Node& node) {
  return !IsEager(graph, node) && TakesEpilogue(node) && !node.calls.empty() &&
         std::ranges::none_of(node.calls, &TakesEpilogue);
}

bool ExpandFused(Expansion& expansion, const ExpandedNode& expanded) {
  const Node& node = expanded.node;
  if (HasEpilogue(expansion.graph, node)) {
    ExpandProductWithEpilogue(expansion, expanded);
    return true;
  }
  const bool reduces = node.target == kFusedReduce;
  if (!reduces && node.target != kFusedElementwise) return false;
  Kernel kernel = {.kernel_class = reduces ? KernelClass::kReduce
                                           : KernelClass::kElementwise,
                   .node = expanded.id,
                   .loop = ElementLoop::kGenerated};
  CountOperands(expansion, expanded, kernel);
  if (reduces) {
    SetFusedRows(expansion, node, kernel);
  } else {
    SetWindows(expansion, node, kernel);
  }
  expansion.kernels.push_back(kernel);
  return true;
}

}  // namespace foretell::cost
