// Selections along an axis and rearrangements of elements.

#include <ATen/ATen.h>

#include <algorithm>

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

void IndexSelect(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const at::Tensor& index = call.Tensor("index");
  TORCH_CHECK(index.dim() <= 1, "index_select: the index has rank ",
              index.dim(), ", expected 0 or 1");
  Sizes sizes = input.sizes().vec();
  if (!sizes.empty()) {
    sizes[WrapDim(call.Int("dim"), input.dim())] = index.numel();
  }
  call.Return(Contiguous(sizes, input.scalar_type()));
}

// flip keeps the order of axes, roll does not.
void Flip(Call& call) { call.Return(Like(call.Tensor("self"))); }

// One dimension after the other (roll_common in
// aten/src/ATen/native/TensorTransformations.h).
void Roll(Call& call) {
  at::Tensor rolled = call.Tensor("self");
  const Sizes dims = call.Ints("dims");
  if (dims.size() < 2) {
    call.Return(Contiguous(rolled.sizes(), rolled.scalar_type()));
    return;
  }
  const Sizes shifts = call.Ints("shifts");
  TORCH_CHECK(shifts.size() == dims.size(), "roll: ", shifts.size(),
              " shifts of ", dims.size(), " dimensions");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    rolled = at::roll(rolled, shifts[i], dims[i]);
  }
  call.Return(rolled);
}

void Take(Call& call) {
  call.Return(Contiguous(call.Tensor("index").sizes(),
                         call.Tensor("self").scalar_type()));
}

// Gradient of Tensor::unfold.
void UnfoldBackward(Call& call) {
  call.Return(Contiguous(call.Ints("input_sizes"),
                         call.Tensor("grad_in").scalar_type()));
}

void TriangleIndices(Call& call) {
  const bool lower = call.schema().name() == "aten::tril_indices";
  const std::int64_t rows = call.Int("row");
  const std::int64_t cols = call.Int("col");
  const std::int64_t offset = call.Int("offset", 0);
  std::int64_t below = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    below += std::clamp<std::int64_t>(row + offset + (lower ? 1 : 0), 0, cols);
  }
  const std::int64_t count = lower ? below : rows * cols - below;
  call.Return(
      Contiguous(Sizes{2, count}, call.DType("dtype").value_or(at::kLong)));
}

// As many gradients as the input of masked_scatter had elements.
void MaskedScatterBackward(Call& call) {
  call.Return(
      Contiguous(call.Ints("sizes"), call.Tensor("grad_output").scalar_type()));
}

// LibTorch composes this of index_add, which on meta needs the index there,
// too; shape arithmetic leaves it on the CPU.
void IndexSelectBackward(Call& call) {
  call.Return(
      Contiguous(call.Ints("self_sizes"), call.Tensor("grad").scalar_type()));
}

// With output_size, the lengths need not be known.
void RepeatInterleave(Call& call) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      call.Has("output_size"),
      "aten::repeat_interleave: the number of results depends on the repeats' "
      "values; give output_size");
  call.Return(Contiguous(Sizes{call.Int("output_size")},
                         call.Tensor("repeats").scalar_type()));
}

// Depends on the values of `self`, but the number of results is an argument.
void NonzeroStatic(Call& call) {
  call.Return(Contiguous(Sizes{call.Int("size"), call.Tensor("self").dim()},
                         at::kLong));
}

void NarrowCopy(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  Sizes sizes = input.sizes().vec();
  sizes[WrapDim(call.Int("dim"), input.dim())] = call.Int("length");
  call.Return(Contiguous(sizes, input.scalar_type()));
}

constexpr KernelRow kIndexingKernels[] = {
    {"index_select", IndexSelect},
    {"index_select_backward", IndexSelectBackward, Policy::kOverrideWhole},
    {"flip", Flip},
    {"roll", Roll},
    {"take", Take},
    {"channel_shuffle", ReturnInFormatOfSelf},
    {"unfold_backward", UnfoldBackward},
    {"tril_indices", TriangleIndices},
    {"triu_indices", TriangleIndices},
    {"repeat_interleave.Tensor", RepeatInterleave},
    {"nonzero_static", NonzeroStatic},
    {"narrow_copy", NarrowCopy},
    {"masked_scatter_backward.", MaskedScatterBackward, Policy::kOverride},
};

}  // namespace

std::span<const KernelRow> IndexingKernels() { return kIndexingKernels; }

}  // namespace foretell::meta
