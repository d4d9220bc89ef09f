// Multiply-accumulates of operators that are several matrix products in one:
// attention and recurrent layers. The formulas are in macs.cc.

#include <string_view>
#include <utility>

#include "src/graph/macs.h"
#include "src/graph/recurrent_layer.h"

namespace foretell {
namespace {

/// Layers that multiply their input with whole weight matrices: the tensors of
/// rank 2 among the inputs from `first` on.
std::int64_t WeightMatrixElements(const Operands& op, std::size_t first) {
  std::int64_t total = 0;
  for (std::size_t i = first; i < op.num_inputs(); ++i) {
    if (op.InputShape(i).size() != 2) continue;
    total = AddMacs(total, op.Input(i).NumElements());
  }
  return total;
}

std::int64_t Tokens(const Operands& op) {
  const std::int64_t width = op.LastOf(0);
  return width == 0 ? 0 : op.Input(0).NumElements() / width;
}

/// Sizes of softmax(Q Kᵀ) V: `rows` = batch * heads * L.
struct AttentionSizes {
  std::int64_t rows = 0;
  std::int64_t keys = 0;
  std::int64_t key_width = 0;
  std::int64_t value_width = 0;
};

/// The `_forward` kernels accept [batch, sequence, heads, width], or packed
/// sequences [tokens, heads, width] with the longest one in `max_k`; all others
/// [batch, heads, sequence, width].
std::int64_t KeysPerQuery(const Operands& op, std::size_t key) {
  const Shape& shape = op.InputShape(key);
  const std::string_view target = op.node().target;
  const bool heads_last = target.starts_with("_efficient_attention") ||
                          target.starts_with("_flash_attention") ||
                          target.starts_with("_cudnn_attention");
  if (heads_last && shape.size() < 4) return op.node().Int("max_k", 0);
  const std::size_t from_end = heads_last ? 3 : 2;
  return shape.size() < from_end ? 1 : shape[shape.size() - from_end];
}

AttentionSizes SizesOf(const Operands& op, std::size_t query) {
  const std::int64_t width = op.LastOf(query);
  Shape rows = op.InputShape(query);
  if (!rows.empty()) rows.pop_back();
  return {.rows = TensorType{.shape = std::move(rows)}.NumElements(),
          .keys = KeysPerQuery(op, query + 1),
          .key_width = width,
          .value_width = op.LastOf(query + 2)};
}

std::int64_t FirstProduct(const AttentionSizes& sizes) {
  return MulMacs(MulMacs(sizes.rows, sizes.keys), sizes.key_width);
}

std::int64_t BothProducts(const AttentionSizes& sizes) {
  const std::int64_t width = AddMacs(sizes.key_width, sizes.value_width);
  return MulMacs(MulMacs(sizes.rows, sizes.keys), width);
}

/// Fused layers on [batch, sequence, width] with projections inside; all heads
/// together are as wide as the layer.
std::int64_t FusedLayerMacs(const Operands& op) {
  const bool separate =
      op.node().target.find("multi_head") != std::string::npos;
  const Shape& shape = op.InputShape(separate ? 1 : 0);
  const std::int64_t keys = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  const std::int64_t weights = WeightMatrixElements(op, separate ? 3 : 1);
  const std::int64_t elements = op.Input(0).NumElements();
  return AddMacs(MulMacs(Tokens(op), weights),
                 MulMacs(2, MulMacs(elements, keys)));
}

}  // namespace

std::int64_t AttentionMacs(const Operands& op) {
  const std::string_view target = op.node().target;
  if (target.find("multi_head") != std::string_view::npos ||
      target == "_transformer_encoder_layer_fwd") {
    return FusedLayerMacs(op);
  }
  return BothProducts(SizesOf(op, 0));
}

std::int64_t AttentionBackwardMacs(const Operands& op) {
  const AttentionSizes sizes = SizesOf(op, 1);
  return AddMacs(MulMacs(2, BothProducts(sizes)), FirstProduct(sizes));
}

// Hidden states of a cell have rank 2 too, or are missing when they are made on
// the host; its two weights are the last matrices.
std::int64_t RecurrentMacs(const Operands& op) {
  if (!IsRecurrentCell(op.node())) {
    return MulMacs(Tokens(op), WeightMatrixElements(op, 1));
  }
  std::size_t first = op.num_inputs();
  for (int matrices = 0; first > 1 && matrices < 2;) {
    --first;
    if (op.InputShape(first).size() == 2) ++matrices;
  }
  return MulMacs(Tokens(op), WeightMatrixElements(op, first));
}

}  // namespace foretell
