// Pooling windows and sliding blocks.

#include <array>
#include <optional>

#include "src/core/checked.h"
#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

// The last axis counts of `input` replaced by `spatial`.
Sizes WithSpatial(const at::Tensor& input, const Sizes& spatial) {
  TORCH_CHECK(static_cast<std::size_t>(input.dim()) > spatial.size(),
              "pooling: the input ", input.sizes(), " has fewer than ",
              spatial.size() + 1, " axes");
  Sizes sizes = input.sizes().vec();
  std::copy(spatial.begin(), spatial.end(),
            sizes.end() - static_cast<std::ptrdiff_t>(spatial.size()));
  return sizes;
}

TensorSpec Pooled(const at::Tensor& input, const Sizes& spatial,
                  at::ScalarType dtype) {
  return InFormat(WithSpatial(input, spatial), dtype,
                  input.suggest_memory_format());
}

void AdaptiveAverage2d(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  call.Return(
      Pooled(input, call.Ints("output_size", 2, 1), input.scalar_type()));
}

// In three dimensions CUDA does not keep channels-last.
void AdaptiveAverage3d(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  call.Return(Contiguous(WithSpatial(input, call.Ints("output_size", 3, 1)),
                         input.scalar_type()));
}

template <std::size_t kRank>
void MaxWithIndices(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const Sizes kernel = call.Ints("kernel_size", kRank, 1);
  const Sizes stride =
      call.Ints("stride").empty() ? kernel : call.Ints("stride", kRank, 1);
  const Sizes padding = call.Ints("padding", kRank, 0);
  const Sizes dilation = call.Ints("dilation", kRank, 1);
  Sizes spatial;
  for (std::size_t i = 0; i < kRank; ++i) {
    const std::int64_t length = input.size(static_cast<std::int64_t>(i) -
                                           static_cast<std::int64_t>(kRank));
    spatial.push_back(
        NumWindows(length, {.kernel = kernel[i],
                            .stride = stride[i],
                            .padding = padding[i],
                            .dilation = dilation[i],
                            .ceil_mode = call.Bool("ceil_mode", false)}));
  }
  call.Return(Pooled(input, spatial, input.scalar_type()));
  call.Return(Pooled(input, spatial, at::kLong));
}

template <std::size_t kRank>
void Unpool(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  call.Return(Contiguous(WithSpatial(input, call.Ints("output_size", kRank, 1)),
                         input.scalar_type()));
}

// im2col: [N, C, H, W] to [N, C * kernel, places].
void SlidingBlocks(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  TORCH_CHECK(input.dim() == 3 || input.dim() == 4,
              "im2col: the input has rank ", input.dim(), ", expected 3 or 4");
  const Sizes kernel = call.Ints("kernel_size", 2, 1);
  const Sizes stride = call.Ints("stride", 2, 1);
  const Sizes padding = call.Ints("padding", 2, 0);
  const Sizes dilation = call.Ints("dilation", 2, 1);
  std::int64_t places = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    places *= NumWindows(input.size(static_cast<std::int64_t>(i) - 2),
                         {.kernel = kernel[i],
                          .stride = stride[i],
                          .padding = padding[i],
                          .dilation = dilation[i]});
  }
  const std::array<std::int64_t, 3> row = {input.size(-3), kernel[0],
                                           kernel[1]};
  const std::optional<std::int64_t> rows = CheckedProduct(row);
  TORCH_CHECK(rows, "im2col: rows of ", at::IntArrayRef(row), " elements");
  Sizes sizes = {*rows, places};
  if (input.dim() == 4) sizes.insert(sizes.begin(), input.size(0));
  call.Return(Contiguous(sizes, input.scalar_type()));
}

// col2im: [N, C * kernel, places] to [N, C, H, W].
void Fold(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  TORCH_CHECK(input.dim() == 2 || input.dim() == 3,
              "col2im: the input has rank ", input.dim(), ", expected 2 or 3");
  const Sizes kernel = call.Ints("kernel_size", 2, 1);
  const Sizes output = call.Ints("output_size", 2, 1);
  const std::int64_t block = kernel[0] * kernel[1];
  TORCH_CHECK(block > 0 && input.size(-2) % block == 0,
              "col2im: ", input.size(-2), " rows do not split into blocks of ",
              block);
  Sizes sizes = {input.size(-2) / block, output[0], output[1]};
  if (input.dim() == 3) sizes.insert(sizes.begin(), input.size(0));
  call.Return(Contiguous(sizes, input.scalar_type()));
}

constexpr KernelRow kPoolingKernels[] = {
    {"_adaptive_avg_pool2d", AdaptiveAverage2d},
    {"adaptive_avg_pool2d.out", AdaptiveAverage2d},
    {"_adaptive_avg_pool3d", AdaptiveAverage3d},
    {"adaptive_avg_pool3d.out", AdaptiveAverage3d},
    {"_adaptive_avg_pool2d_backward", ReturnInFormatOfSelf},
    {"_adaptive_avg_pool3d_backward", ReturnContiguousSelf},
    {"adaptive_avg_pool3d_backward", ReturnContiguousSelf},
    {"max_pool2d_backward", ReturnInFormatOfSelf},
    {"max_pool3d_with_indices", MaxWithIndices<3>},
    {"max_pool3d_with_indices_backward", ReturnInFormatOfSelf},
    {"fractional_max_pool3d_backward", ReturnContiguousSelf},
    {"max_unpool2d", Unpool<2>},
    {"max_unpool3d", Unpool<3>},
    {"im2col", SlidingBlocks},
    {"col2im", Fold},
};

}  // namespace

std::span<const KernelRow> PoolingKernels() { return kPoolingKernels; }

}  // namespace foretell::meta
