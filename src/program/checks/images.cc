// Images: sampling, patches, pooling and its inverse.
#include <algorithm>
#include <array>
#include <iterator>

#include "src/core/failure.h"
#include "src/program/checks/families.h"
#include "src/program/checks/predicates.h"

namespace foretell::checks {
namespace {

/// check_grid_sampler_common (GridSamplerUtils.h).
void CheckGrid(const Call& call) {
  const at::Tensor& input = call.Tensor("input");
  const at::Tensor& grid = call.Tensor("grid");
  if (input.scalar_type() != grid.scalar_type()) {
    throw InvalidArgument(
        "samples elements of type {} at a grid of type {}, which must be the "
        "same",
        TypeText(input), TypeText(grid));
  }
  RequireFloats(input);
  RequireRank(input, "an input", 4, 5);
  RequireRank(grid, "a grid", input.dim(), input.dim());
  Sizes expected = grid.sizes().vec();
  expected.front() = input.size(0);
  expected.back() = input.dim() - 2;
  RequireShape(grid, "a grid", expected);
}

/// channel_shuffle (ChanelShuffle.cpp).
void CheckChannelShuffle(const Call& call) {
  const at::Tensor& input = call.Tensor("self");
  if (input.dim() < 3) {
    throw InvalidArgument(
        "has an input of shape {}, expected at least 3 dimensions",
        Text(input.sizes()));
  }
  RequireDivides(input.size(1), "channels", call.Int("groups"));
}

/// The numbers of a window of im2col and col2im, two of each.
void RequireWindow(const Call& call) {
  struct Number {
    std::string_view name;
    std::int64_t least;
  };
  constexpr Number kNumbers[] = {
      {"kernel_size", 1}, {"dilation", 1}, {"padding", 0}, {"stride", 1}};
  for (const auto& [name, least] : kNumbers) {
    const Sizes numbers = call.Ints(name);
    if (numbers.size() != 2) {
      throw InvalidArgument("has {} {}, expected 2 numbers", name,
                            Text(numbers));
    }
    for (const std::int64_t number : numbers) {
      RequireAtLeast(number, name, least);
    }
  }
}

void RequireFloatsOrFlags(const at::Tensor& tensor) {
  if (tensor.scalar_type() != at::kBool) RequireFloats(tensor);
}

/// im2col_shape_check (im2col_shape_check.h).
void CheckIm2col(const Call& call) {
  RequireFloatsOrFlags(call.Tensor("self"));
  RequireWindow(call);
}

/// Places of the window along `axis`.
std::int64_t PlacesOf(const Call& call, std::int64_t size, std::size_t axis) {
  const std::int64_t extent =
      call.Ints("dilation")[axis] * (call.Ints("kernel_size")[axis] - 1) + 1;
  const std::int64_t room = size + 2 * call.Ints("padding")[axis] - extent;
  return room < 0 ? 0 : room / call.Ints("stride")[axis] + 1;
}

/// col2im_shape_check (im2col_shape_check.h).
void CheckCol2im(const Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const Sizes output = call.Ints("output_size");
  RequireFloatsOrFlags(input);
  RequireWindow(call);
  RequireRank(input, "an input", 2, 3);
  if (output.size() != 2) {
    throw InvalidArgument("has output_size {}, expected 2 numbers",
                          Text(output));
  }
  const Sizes kernel = call.Ints("kernel_size");
  RequireDivides(input.size(-2), "rows", kernel[0] * kernel[1]);
  const std::int64_t places =
      PlacesOf(call, output[0], 0) * PlacesOf(call, output[1], 1);
  if (input.size(-1) == places) return;
  throw InvalidArgument(
      "has {} columns, an output of {} with windows of {} has {}",
      input.size(-1), Text(output), Text(kernel), places);
}

/// max_unpool2d and max_unpool3d (MaxUnpooling.cpp).
template <std::int64_t kRank>
void CheckUnpool(const Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const at::Tensor& indices = call.Tensor("indices");
  RequireOneOf(indices, "indices", {at::kLong});
  RequireRank(input, "an input", kRank + 1, kRank + 2);
  RequireShape(indices, "indices", input.sizes());
  for (const std::string_view name : {"output_size", "stride", "padding"}) {
    const Sizes numbers = call.Ints(name);
    if (!call.Has(name) || numbers.size() == kRank) continue;
    throw InvalidArgument("has {} {}, expected {} numbers", name, Text(numbers),
                          kRank);
  }
  for (const std::int64_t stride : call.Ints("stride")) {
    RequireAtLeast(stride, "stride", 1);
  }
}

/// pool3d_shape_check (Pool.h).
void CheckMaxPool3d(const Call& call) {
  const at::Tensor& input = call.Tensor("self");
  constexpr std::size_t kRank = 3;
  if (input.scalar_type() == at::kBool) RequireFloats(input);
  RequireRank(input, "an input", 4, 5);
  RequireAll(call, "kernel_size", kRank, 1);
  RequireAll(call, "dilation", kRank, 1);
  RequireAll(call, "padding", kRank, 0);
  const Sizes kernel = call.Ints("kernel_size", kRank, 1);
  const Sizes dilation = call.Ints("dilation", kRank, 1);
  const Sizes padding = call.Ints("padding", kRank, 0);
  for (std::size_t i = 0; i < kRank; ++i) {
    const std::int64_t extent = dilation[i] * (kernel[i] - 1) + 1;
    if (padding[i] <= extent / 2) continue;
    throw InvalidArgument("pads by {}, more than half of its window of {}",
                          padding[i], extent);
  }
  for (std::int64_t axis = input.dim() - 4; axis < input.dim(); ++axis) {
    if (input.size(axis) > 0) continue;
    throw InvalidArgument("has an input of shape {}, expected elements",
                          Text(input.sizes()));
  }
}

/// Padding by what lies at the border (ReflectionPad.cpp, ReplicationPad.cpp).
template <std::int64_t kRank>
void CheckBorder(const Call& call) {
  const at::Tensor& input = call.Tensor("self");
  RequireRank(input, "an input", kRank + 1, kRank + 2);
  if (input.scalar_type() == at::kBool) {
    throw InvalidArgument("has no kernel for elements of type bool");
  }
}

/// One place is a mean over any input (AdaptiveAveragePooling.cpp).
template <std::int64_t kRank>
void CheckAdaptivePool(const Call& call) {
  const Sizes places = call.Ints("output_size");
  RequireFloats(call.FirstTensor());
  if (std::ranges::count(places, 1) == std::ssize(places)) return;
  RequireRank(call.FirstTensor(), "an input", kRank + 1, kRank + 2);
}

/// fractional_max_pool (FractionalMaxPooling.h).
template <std::int64_t kRank>
void CheckFractionalPool(const Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const at::Tensor& samples = call.Tensor("random_samples");
  RequireTypeOf(samples, "random_samples", input, "an input");
  RequireRank(input, "an input", kRank + 1, kRank + 2);
  RequireRank(samples, "random_samples", 3, 3);
  const std::int64_t channels = input.size(-kRank - 1);
  RequireShape(samples, "random_samples", {samples.size(0), channels, kRank});
  if (input.dim() == kRank + 2) {
    RequireAtLeast(samples.size(0), "random_samples of length", input.size(0));
  }
}

constexpr std::array kImageRows = std::to_array<OperandRow>({
    {"adaptive_avg_pool2d", &CheckAdaptivePool<2>},
    {"adaptive_avg_pool3d", &CheckAdaptivePool<3>},
    {"channel_shuffle", &CheckChannelShuffle},
    {"col2im", &CheckCol2im},
    {"fractional_max_pool2d", &CheckFractionalPool<2>},
    {"fractional_max_pool3d", &CheckFractionalPool<3>},
    {"grid_sampler", &CheckGrid},
    {"grid_sampler_2d", &CheckGrid},
    {"grid_sampler_3d", &CheckGrid},
    {"im2col", &CheckIm2col},
    {"max_pool3d", &CheckMaxPool3d},
    {"max_pool3d_with_indices", &CheckMaxPool3d},
    {"max_unpool2d", &CheckUnpool<2>},
    {"max_unpool3d", &CheckUnpool<3>},
    {"reflection_pad1d", &CheckBorder<1>},
    {"reflection_pad2d", &CheckBorder<2>},
    {"reflection_pad3d", &CheckBorder<3>},
    {"replication_pad1d", &CheckBorder<1>},
    {"replication_pad2d", &CheckBorder<2>},
    {"replication_pad3d", &CheckBorder<3>},
});

}  // namespace

std::span<const OperandRow> ImageRows() { return kImageRows; }

}  // namespace foretell::checks
