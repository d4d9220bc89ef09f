#include "src/runtime/compile/products.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "src/core/checked.h"
#include "src/graph/kind_sets.h"
#include "src/graph/strides.h"

// What Inductor does to matrix products before it leaves them to a library.
//
// Autocast. AOTAutograd traces the backward pass under the autocast of the
// forward pass (backward_pass_autocast = "same_as_forward" in
// torch/_functorch/config.py), where eager PyTorch has none. So products of f32
// operands, as the gradients of attention that is computed in f32, run in 16
// bits.
//
// Padding (torch/_inductor/fx_passes/pad_mm.py, PyTorch 2.13). A product bound
// by its arithmetic of whose extents one is no multiple of 16 bytes is timed
// with extents rounded up, and padded if that takes 1.1 times less. The result
// is a slice. The timing is replaced by what decides it: in 16 bits the library
// multiplies several times slower where the rows of an operand or of the result
// begin at other addresses (src/cost/gemm.cc), but not for another reason, and
// in f32 hardly (judgement).

namespace foretell::runtime {
namespace {

constexpr std::int64_t kAlignment = 8;  ///< Elements of 16 bits.
/// FLOP per byte of an H100's peak and memory, halved (is_mm_compute_bound).
constexpr double kMachineBalance = 148;

/// Matrices [..., m, k] and [k, n], or [n, k] where `is_turned`.
struct Matrices {
  std::size_t first = 0;  ///< Operand that is the first of the two.
  bool is_turned = false;
  std::int64_t batch_rank = 0;  ///< Dimensions in front, of both.
  std::int64_t rows = 0, m = 0, n = 0, k = 0;  ///< `rows`: m of all in front.
};

const Shape& ShapeOf(const PrimitiveEmitter& emitter, ValueId old) {
  return emitter.graph().value(old).type.shape;
}

/// k is 0 for what is no product of matrices.
Matrices MatricesOf(const PrimitiveEmitter& emitter, const Node& node) {
  Matrices result = {.first = node.target == "addmm" ? 1U : 0U,
                     .is_turned = node.target == "linear",
                     .batch_rank = node.target == "bmm" ? 1 : 0};
  constexpr std::string_view kTargets[] = {"linear", "mm", "addmm", "bmm"};
  if (std::ranges::count(kTargets, node.target) == 0) return result;
  if (node.inputs.size() < result.first + 2) return result;
  const Shape& a = ShapeOf(emitter, node.inputs[result.first]);
  const Shape& b = ShapeOf(emitter, node.inputs[result.first + 1]);
  if (a.size() < 2 || b.size() < 2) return result;
  result.m = a[a.size() - 2];
  result.k = a.back();
  result.n = result.is_turned ? b[b.size() - 2] : b.back();
  result.rows = result.m;
  if (result.is_turned) {
    for (std::size_t i = 0; i + 2 < a.size(); ++i) result.rows *= a[i];
  }
  return result;
}

/// Elements from one row to the next of a matrix whose rows or columns lie side
/// by side; 0 for a vector.
std::int64_t LeadingExtent(const Value& value) {
  const Shape& shape = value.type.shape;
  const std::size_t last = shape.size() - 1;
  if (shape[last] == 1 || shape[last - 1] == 1) return 0;
  const Strides strides = StridesOf(value);
  return std::max(strides[last], strides[last - 1]);
}

bool IsComputeBound(const Matrices& at) {
  const auto m = static_cast<double>(at.rows);
  const auto n = static_cast<double>(at.n);
  const auto k = static_cast<double>(at.k);
  return m * n * k > kMachineBalance * (m * k + n * k + m * n);
}

bool IsPadded(const PrimitiveEmitter& emitter, const Node& node,
              const Matrices& at) {
  const OperatorGraph& graph = emitter.graph();
  if (at.k == 0 || !IsComputeBound(at)) return false;
  if (!IsHalf(graph.value(node.outputs[0]).type.dtype)) return false;
  const auto is_odd = [&](ValueId id) {
    return LeadingExtent(graph.value(id)) % kAlignment != 0;
  };
  return is_odd(node.outputs[0]) || is_odd(node.inputs[at.first]) ||
         is_odd(node.inputs[at.first + 1]);
}

std::int64_t Padded(std::int64_t extent) {
  return extent == 1 ? extent : RoundUp(extent, kAlignment);
}

/// `now` with the dimensions `dims` from the end rounded up.
ValueId Pad(PrimitiveEmitter& emitter, ValueId now,
            std::span<const std::size_t> dims) {
  TensorType type = emitter.TypeOf(now);
  for (const std::size_t dim : dims) {
    std::int64_t& extent = type.shape[type.shape.size() - dim];
    extent = Padded(extent);
  }
  if (type == emitter.TypeOf(now)) return now;
  return emitter.Emit("constant_pad_nd", {now}, std::move(type));
}

void AddPadded(PrimitiveEmitter& emitter, const Node& node,
               const Matrices& at) {
  constexpr std::size_t kColumns[] = {1}, kBoth[] = {1, 2};
  // Rows of several dimensions are one dimension for Inductor, and even.
  const bool pads_rows = !at.is_turned;
  const std::span<const std::size_t> dims =
      pads_rows ? std::span<const std::size_t>(kBoth) : kColumns;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId now = emitter.Now(node.inputs[i]);
    const bool is_matrix = i == at.first + 1;
    inputs.push_back(Pad(emitter, now,
                         is_matrix       ? std::span<const std::size_t>(kBoth)
                         : i == at.first ? dims
                                         : kColumns));
  }
  const ValueId result = node.outputs[0];
  TensorType type = emitter.graph().value(result).type;
  type.shape.back() = Padded(at.n);
  if (pads_rows) type.shape[type.shape.size() - 2] = Padded(at.m);
  const ValueId product =
      emitter.Emit(node.target, std::move(inputs), type, node.attributes);
  emitter.Set(result,
              emitter.FirstOf(product, emitter.graph().value(result).type));
}

bool RunsInAutocast(const PrimitiveEmitter& emitter, const Node& node) {
  return emitter.graph().info().autocast.has_value() &&
         node.phase == Phase::kBackward &&
         emitter.graph().value(node.outputs[0]).type.dtype == DType::kF32;
}

/// A linear layer that copied its operand to see rows: the copy is a tensor of
/// its own, and the bias an addition.
bool AddCopiedRows(PrimitiveEmitter& emitter, const Node& node) {
  if (node.kind != OpKind::kLinear || node.phase != Phase::kForward ||
      node.outputs.size() != 2 || node.inputs.size() < 2) {
    return false;
  }
  const OperatorGraph& graph = emitter.graph();
  const ValueId copy = emitter.Clone(emitter.Now(node.inputs[0]), false);
  const ValueId rows = emitter.View(copy, graph.value(node.outputs[1]).type);
  emitter.Set(node.outputs[1], rows);
  const TensorType& type = graph.value(node.outputs[0]).type;
  const TensorType product_type = {
      type.dtype, {emitter.TypeOf(rows).shape[0], type.shape.back()}};
  ValueId product =
      emitter.Emit(node.target, {rows, emitter.Now(node.inputs[1])},
                   product_type, node.attributes);
  product = emitter.View(product, type);
  if (node.inputs.size() > 2) {
    product = emitter.Emit("add", {product, emitter.Now(node.inputs[2])}, type);
  }
  emitter.Set(node.outputs[0], product);
  return true;
}

}  // namespace

ValueId EmitProduct(PrimitiveEmitter& emitter, std::string target,
                    std::vector<ValueId> inputs, TensorType type,
                    Attributes attributes) {
  const auto autocast = emitter.graph().info().autocast;
  if (!autocast || emitter.phase() != Phase::kBackward ||
      type.dtype != DType::kF32) {
    return emitter.Emit(std::move(target), std::move(inputs), std::move(type),
                        std::move(attributes));
  }
  for (ValueId& input : inputs) {
    TensorType cast = emitter.TypeOf(input);
    if (cast.dtype != DType::kF32) continue;
    cast.dtype = *autocast;
    input = emitter.Emit("to", {input}, std::move(cast));
  }
  const TensorType half = {*autocast, type.shape};
  const ValueId product = emitter.Emit(std::move(target), std::move(inputs),
                                       half, std::move(attributes));
  return emitter.Emit("to", {product}, std::move(type));
}

bool DecomposeProduct(PrimitiveEmitter& emitter, const Node& node) {
  if (AddCopiedRows(emitter, node)) return true;
  const bool is_product =
      node.kind == OpKind::kMatmul || node.kind == OpKind::kLinear;
  if (!is_product || !node.calls.empty() || node.outputs.size() != 1) {
    return false;
  }
  const Matrices at = MatricesOf(emitter, node);
  if (IsPadded(emitter, node, at)) {
    AddPadded(emitter, node, at);
    return true;
  }
  if (node.kind != OpKind::kMatmul || !RunsInAutocast(emitter, node)) {
    return false;
  }
  std::vector<ValueId> inputs;
  for (const ValueId id : node.inputs) inputs.push_back(emitter.Now(id));
  const ValueId result = node.outputs[0];
  emitter.Set(result,
              EmitProduct(emitter, node.target, std::move(inputs),
                          emitter.graph().value(result).type, node.attributes));
  return true;
}

}  // namespace foretell::runtime
