#pragma once

#include "src/program/meta/call.h"

namespace foretell::meta {

/// Returns a tensor like the first tensor argument, element type included.
void ReturnLikeFirst(Call& call);

/// Returns a contiguous tensor of the shape and element type of `self`.
void ReturnContiguousSelf(Call& call);

/// The same in the memory format that `self` suggests.
void ReturnInFormatOfSelf(Call& call);

/// Returns the broadcast of `inputs` laid out as at::TensorIterator does it
/// (the strides of the inputs win); of type `dtype`, or of the type that the
/// inputs promote to.
void ReturnPointwise(Call& call, const std::vector<at::Tensor>& inputs,
                     std::optional<at::ScalarType> dtype = std::nullopt);

/// Element type that `inputs` promote to.
at::ScalarType PromotedType(const std::vector<at::Tensor>& inputs);

/// Element type in which CUDA accumulates `dtype`: float for the 16-bit types,
/// the type itself otherwise.
at::ScalarType AccumulateType(at::ScalarType dtype);

/// Element type of the result of an operator that turns integers to floats.
at::ScalarType FloatingType(at::ScalarType dtype);

/// `dim` counted from the front; throws c10::Error when out of range.
std::size_t WrapDim(std::int64_t dim, std::int64_t rank);

/// Number of positions of a window of `kernel` elements on an axis of `input`
/// elements.
struct Window {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  bool ceil_mode = false;
};
std::int64_t NumWindows(std::int64_t input, const Window& window);

/// Throws c10::Error where a number of `window` is beyond 2^30, or `input`
/// beyond 2^32: what is computed of others might not fit into 64 bits.
/// NumWindows requires it.
void RequireModest(std::int64_t input, const Window& window);

/// at::reduction::None; the others reduce a loss to a scalar.
inline constexpr std::int64_t kNoReduction = 0;

}  // namespace foretell::meta
