#include <cstddef>
#include <string>

#include "src/graph/macs.h"
#include "src/graph/validate.h"
#include "src/kernels/expansion.h"

// Attention without a fused kernel:
//
//   scale queries and keys, multiply them, add the mask, softmax, multiply by
//   the values.
//
// PyTorch has no fused kernel before 2.0 and uses none for tensors of a rank
// other than four. Where several heads of the queries share keys and values, it
// has one for 16 bits without a mask alone (flash attention); else keys and
// values are repeated for every head. Since 2.5 the products of 16-bit tensors
// then run in FP32, between casts there and back, and the softmax is a safe
// one, which looks for rows without a key and fills them with zeros; the
// weights, which are never read, are cast too (the profiler shows all of them,
// _scaled_dot_product_attention_math). Before 2.0 the operator did not exist: a
// network wrote these steps itself, scaled the scores instead of the operands
// (timm, transformers), and under autocast its softmax returned f32.

namespace foretell::cost {
namespace {

constexpr std::size_t kFusedRank = 4;

/// Sizes of softmax(Q Kᵀ) V; every count is in elements.
struct AttentionSizes {
  std::int64_t batch = 1;  ///< Images * heads.
  std::int64_t queries = 1;
  std::int64_t keys = 1;
  std::int64_t key_width = 1;
  std::int64_t value_width = 1;

  std::int64_t Scores() const { return batch * queries * keys; }
  std::int64_t Results() const { return batch * queries * value_width; }
};

/// Throws Error(kInvalidArgument) for scores or results that no graph may have,
/// and for keys and values that repeat beyond that.
AttentionSizes SizesOf(const Expansion& expansion, const Node& node) {
  const Shape& query = expansion.tensors.ShapeOf(node.inputs[0]);
  const Shape& key = expansion.tensors.ShapeOf(node.inputs[1]);
  const Shape& value = expansion.tensors.ShapeOf(node.inputs[2]);
  const AttentionSizes sizes = {.batch = ProductBefore(query, 2),
                                .queries = query[query.size() - 2],
                                .keys = key[key.size() - 2],
                                .key_width = query.back(),
                                .value_width = value.back()};
  const std::string& name = expansion.graph.value(node.outputs.front()).name;
  const auto require = [&](std::int64_t rows, std::int64_t columns) {
    CheckType({DType::kF32, {sizes.batch, rows, columns}}, "attention", name);
  };
  require(sizes.queries, sizes.keys);
  require(sizes.queries, sizes.value_width);
  require(sizes.keys, sizes.key_width);
  require(value[value.size() - 2], sizes.value_width);
  MulMacs(sizes.Scores(), sizes.key_width);
  MulMacs(sizes.Results(), sizes.keys);
  return sizes;
}

/// Lists the steps; widths are bytes per element.
class UnfusedAttention {
 public:
  UnfusedAttention(Expansion& expansion, const ExpandedNode& expanded)
      : expansion_(expansion),
        expanded_(expanded),
        sizes_(SizesOf(expansion, expanded.node)) {
    const Node& node = expanded.node;
    outside_ = expansion.tensors.ElementBytes(node.inputs[0]);
    is_safe_ = expansion.mode.torch.Generation() ==
               TorchGeneration::kFloatAttentionFallback;
    inside_ = is_safe_ && outside_ == kHalfBytes ? kFloatBytes : outside_;
    const bool autocast = expansion.graph.info().autocast.has_value();
    scores_ = autocast && IsBeforeFusion() ? kFloatBytes : inside_;
  }

  void Expand() {
    const auto& inputs = expanded_.node.inputs;
    const std::int64_t query = expansion_.tensors.Elements(inputs[0]);
    const std::int64_t key = RepeatHeads(inputs[1]);
    const std::int64_t value = RepeatHeads(inputs[2]);
    for (const std::int64_t elements : {query, key, value}) {
      Convert(KernelClass::kCastUp, elements, outside_, inside_);
    }
    if (!IsBeforeFusion()) {
      Scale(query, sizes_.key_width);
      Scale(key, sizes_.key_width);
    }
    Multiply(query + key, sizes_.Scores(), sizes_.keys, sizes_.key_width);
    if (IsBeforeFusion()) Scale(sizes_.Scores(), sizes_.keys);
    const std::int64_t masked = AddMask();
    Emit({.kernel_class = KernelClass::kSoftmax,
          .bytes_in = masked * sizes_.Scores(),
          .bytes_out = scores_ * sizes_.Scores(),
          .element_bytes_in = masked,
          .element_bytes_out = scores_,
          .inner_extent = sizes_.keys});
    if (is_safe_) FillEmptyRows(masked);
    Convert(KernelClass::kCastDown, sizes_.Scores(), scores_, inside_);
    Multiply(sizes_.Scores() + value, sizes_.Results(), sizes_.value_width,
             sizes_.keys);
    Convert(KernelClass::kCastDown, sizes_.Results(), inside_, outside_);
  }

 private:
  bool IsBeforeFusion() const {
    return expansion_.mode.torch.Generation() ==
           TorchGeneration::kNoFusedAttention;
  }

  void Emit(Kernel kernel) {
    kernel.node = expanded_.id;
    expansion_.kernels.push_back(kernel);
  }

  /// Elements of keys or values with a head for every one of the queries.
  std::int64_t RepeatHeads(ValueId id) {
    const Shape& shape = expansion_.tensors.ShapeOf(id);
    const std::int64_t own = expansion_.tensors.Elements(id);
    const std::int64_t heads = ProductBefore(shape, 2);
    if (heads == 0 || heads >= sizes_.batch) return own;
    const std::int64_t all = own / heads * sizes_.batch;
    Emit({.kernel_class = KernelClass::kHiddenCopy,
          .bytes_in = outside_ * own,
          .bytes_out = outside_ * all,
          .element_bytes_in = outside_,
          .element_bytes_out = outside_,
          .inner_extent = shape.back()});
    return all;
  }

  /// A cast, unless the types are the same.
  void Convert(KernelClass kernel_class, std::int64_t elements,
               std::int64_t from, std::int64_t to) {
    if (from == to) return;
    Emit({.kernel_class = kernel_class,
          .bytes_in = from * elements,
          .bytes_out = to * elements,
          .element_bytes_in = from,
          .element_bytes_out = to});
  }

  void Scale(std::int64_t elements, std::int64_t row) {
    Emit({.kernel_class = KernelClass::kMultiply,
          .bytes_in = inside_ * elements,
          .bytes_out = inside_ * elements,
          .element_bytes_in = inside_,
          .element_bytes_out = inside_,
          .inner_extent = row});
  }

  /// Compares the scores with minus infinity, finds the rows where all are, and
  /// puts zeros there; casts the weights to the type of the operands.
  void FillEmptyRows(std::int64_t masked) {
    const std::int64_t scores = sizes_.Scores();
    const std::int64_t rows = sizes_.batch * sizes_.queries;
    Emit({.kernel_class = KernelClass::kElementwise,
          .bytes_in = masked * scores,
          .bytes_out = scores,
          .element_bytes_in = masked,
          .element_bytes_out = 1,
          .inner_extent = sizes_.keys});
    Emit({.kernel_class = KernelClass::kReduce,
          .bytes_in = scores,
          .bytes_out = rows,
          .element_bytes_in = 1,
          .element_bytes_out = 1,
          .inner_extent = sizes_.keys,
          .variant = true});
    Emit({.kernel_class = KernelClass::kElementwise,
          .bytes_in = scores_ * scores + rows,
          .bytes_out = scores_ * scores,
          .element_bytes_in = scores_,
          .element_bytes_out = scores_,
          .inner_extent = sizes_.keys,
          .variant = true});
    Convert(KernelClass::kCastDown, scores, scores_, outside_);
  }

  void Multiply(std::int64_t elements_in, std::int64_t elements_out,
                std::int64_t columns, std::int64_t contracted) {
    const Precision arithmetic = Arithmetic();
    const bool on_lanes = arithmetic == Precision::kFp32;
    Emit({.kernel_class =
              on_lanes ? KernelClass::kFloatMatmul : KernelClass::kMatmul,
          .bytes_in = inside_ * elements_in,
          .bytes_out = inside_ * elements_out,
          .macs = elements_out * contracted,
          .batch = sizes_.batch,
          .m = sizes_.queries,
          .n = columns,
          .k = contracted,
          .element_bytes_in = inside_,
          .element_bytes_out = inside_,
          .inner_extent = sizes_.keys,
          .arithmetic = arithmetic});
  }

  /// Plain products: 16 bit unchanged, f32 in FP32 unless TF32 is requested.
  Precision Arithmetic() const {
    const GraphInfo& info = expansion_.graph.info();
    if (inside_ != kHalfBytes) {
      return info.precision == Precision::kTf32 ? Precision::kTf32
                                                : Precision::kFp32;
    }
    const ValueId query = expanded_.node.inputs.front();
    const bool is_bf16 =
        expansion_.graph.value(query).type.dtype == DType::kBF16;
    return is_bf16 ? Precision::kBf16 : Precision::kFp16;
  }

  /// Returns the bytes per element of the scores afterwards.
  std::int64_t AddMask() {
    const Node& node = expanded_.node;
    if (node.inputs.size() <= 3) return inside_;
    const TensorStates& tensors = expansion_.tensors;
    const ValueId mask = node.inputs[3];
    Emit({.kernel_class = KernelClass::kAdd,
          .bytes_in = inside_ * sizes_.Scores() + tensors.Bytes(mask),
          .bytes_out = scores_ * sizes_.Scores(),
          .element_bytes_in = scores_,
          .element_bytes_out = scores_,
          .inner_extent = sizes_.keys});
    return scores_;
  }

  Expansion& expansion_;
  const ExpandedNode& expanded_;
  AttentionSizes sizes_;
  std::int64_t outside_ = 0;  ///< Bytes of operands and result.
  std::int64_t inside_ = 0;   ///< Bytes in the products.
  std::int64_t scores_ = 0;   ///< Bytes of what the softmax returns.
  bool is_safe_ = false;      ///< Rows without a key are looked for.
};

/// Whether heads share keys and values in a way that no fused kernel supports.
bool SharesKeysUnfused(const Expansion& expansion, const Node& node) {
  const Shape& query = expansion.tensors.ShapeOf(node.inputs[0]);
  const Shape& key = expansion.tensors.ShapeOf(node.inputs[1]);
  if (query.size() != kFusedRank || key.size() != kFusedRank ||
      query[1] == key[1]) {
    return false;
  }
  const bool is_half =
      expansion.tensors.ElementBytes(node.inputs[0]) == kHalfBytes;
  return !is_half || node.inputs.size() > 3;
}

}  // namespace

bool IsUnfusedAttention(const Expansion& expansion, const Node& node) {
  if (node.kind != OpKind::kAttention || node.inputs.size() < 3) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (expansion.tensors.ShapeOf(node.inputs[i]).size() < 2) return false;
  }
  const std::size_t rank = expansion.tensors.ShapeOf(node.inputs[0]).size();
  return rank != kFusedRank || SharesKeysUnfused(expansion, node) ||
         expansion.mode.torch.Generation() ==
             TorchGeneration::kNoFusedAttention;
}

void ExpandAttention(Expansion& expansion, const ExpandedNode& expanded) {
  UnfusedAttention(expansion, expanded).Expand();
}

}  // namespace foretell::cost
