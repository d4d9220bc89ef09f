// Convolutions of any rank, with their gradients.
//
// Memory format as in cuDNN: channels-last as soon as the input or the
// weight is channels-last, else contiguous; never channels-last for float64.

#include <algorithm>
#include <array>

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

#include <ATen/ATen.h>

namespace foretell::meta {
namespace {

at::MemoryFormat FormatOf(const at::Tensor& input, const at::Tensor& weight) {
  if (input.scalar_type() == at::kDouble) return at::MemoryFormat::Contiguous;
  const at::MemoryFormat format = input.suggest_memory_format();
  return format == at::MemoryFormat::Contiguous ? weight.suggest_memory_format()
                                                : format;
}

struct Geometry {
  Sizes stride;
  Sizes padding;
  Sizes dilation;
  Sizes output_padding;
  bool transposed = false;
  std::int64_t groups = 1;
};

Geometry ReadGeometry(const Call& call, std::size_t rank) {
  return {.stride = call.Ints("stride", rank, 1),
          .padding = call.Ints("padding", rank, 0),
          .dilation = call.Ints("dilation", rank, 1),
          .output_padding = call.Ints("output_padding", rank, 0),
          .transposed = call.Bool("transposed", false),
          .groups = call.Int("groups", 1)};
}

// Length of output axis `axis` (of the spatial ones).
std::int64_t OutputLength(std::int64_t input, std::int64_t kernel,
                          const Geometry& g, std::size_t axis) {
  const Window window = {.kernel = kernel,
                         .stride = g.stride[axis],
                         .padding = g.padding[axis],
                         .dilation = g.dilation[axis]};
  if (!g.transposed) return NumWindows(input, window);
  RequireModest(input, window);
  RequireModest(input, {.padding = g.output_padding[axis]});
  return (input - 1) * g.stride[axis] - 2 * g.padding[axis] +
         g.dilation[axis] * (kernel - 1) + g.output_padding[axis] + 1;
}

void CheckChannels(const at::Tensor& input, const at::Tensor& weight,
                   const Geometry& g) {
  TORCH_CHECK(input.dim() == weight.dim(), "convolution: the input has rank ",
              input.dim(), ", the weight ", weight.dim());
  TORCH_CHECK(
      g.groups > 0 && g.groups <= std::max<std::int64_t>(weight.size(0), 1),
      "convolution: groups is ", g.groups, ", the weight has ", weight.size(0),
      " filters");
  const std::int64_t expected =
      g.transposed ? weight.size(0) : weight.size(1) * g.groups;
  TORCH_CHECK(input.size(1) == expected, "convolution: the input ",
              input.sizes(), " has ", input.size(1), " channels, the weight ",
              weight.sizes(), " with ", g.groups, " groups expects ", expected);
  TORCH_CHECK(weight.size(0) % g.groups == 0, "convolution: ", weight.size(0),
              " filters do not split into ", g.groups, " groups");
}

void Convolution(Call& call) {
  const at::Tensor& input = call.Tensor(call.Has("input") ? "input" : "self");
  const at::Tensor& weight = call.Tensor("weight");
  TORCH_CHECK(input.dim() >= 3, "convolution: the input has rank ", input.dim(),
              ", expected at least 3");
  const Geometry g =
      ReadGeometry(call, static_cast<std::size_t>(input.dim() - 2));
  CheckChannels(input, weight, g);
  Sizes sizes = {input.size(0),
                 g.transposed ? weight.size(1) * g.groups : weight.size(0)};
  for (std::int64_t axis = 2; axis < input.dim(); ++axis) {
    sizes.push_back(OutputLength(input.size(axis), weight.size(axis), g,
                                 static_cast<std::size_t>(axis - 2)));
    TORCH_CHECK(sizes.back() > 0, "convolution: the output would be ",
                at::IntArrayRef(sizes));
  }
  call.Return(InFormat(sizes, input.scalar_type(), FormatOf(input, weight)));
}

void ConvolutionBackward(Call& call) {
  const at::Tensor& grad = call.Tensor("grad_output");
  const at::Tensor& input = call.Tensor("input");
  const at::Tensor& weight = call.Tensor("weight");
  const std::vector<bool> mask = call.Bools("output_mask");
  const at::MemoryFormat format = FormatOf(input, weight);
  call.ReturnIf(mask[0], InFormat(input.sizes(), input.scalar_type(), format));
  call.ReturnIf(mask[1],
                InFormat(weight.sizes(), weight.scalar_type(), format));
  const std::array<std::int64_t, 1> bias = {grad.size(1)};
  call.ReturnIf(mask[2], Contiguous(bias, grad.scalar_type()));
}

// Traced modules hold the operator that also accepts cuDNN's switches.
void TracedConvolution(Call& call) {
  const at::Tensor& input = call.Tensor("input");
  const auto rank = static_cast<std::size_t>(input.dim() - 2);
  const Geometry g = ReadGeometry(call, rank);
  call.Return(at::convolution(
      input, call.Tensor("weight"), call.TensorOrUndefined("bias"), g.stride,
      g.padding, g.dilation, g.transposed, g.output_padding, g.groups));
}

// conv_tbc: [time, batch, channels], weight [kernel, in, out].
void TimeBatchConvolution(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const at::Tensor& weight = call.Tensor("weight");
  const std::int64_t time = NumWindows(
      input.size(0), {.kernel = weight.size(0), .padding = call.Int("pad", 0)});
  const std::array<std::int64_t, 3> sizes = {time, input.size(1),
                                             weight.size(2)};
  call.Return(Contiguous(sizes, input.scalar_type()));
}

void TimeBatchConvolutionBackward(Call& call) {
  call.Return(Like(call.Tensor("input")));
  call.Return(Like(call.Tensor("weight")));
  call.Return(Like(call.Tensor("bias")));
}

constexpr KernelRow kConvolutionKernels[] = {
    {"convolution", Convolution, Policy::kOverride},
    {"convolution_backward", ConvolutionBackward, Policy::kOverride},
    {"convolution_overrideable", Convolution, Policy::kOverride},
    {"convolution_backward_overrideable", ConvolutionBackward,
     Policy::kOverride},
    {"_convolution", TracedConvolution, Policy::kOverrideWhole},
    {"cudnn_convolution", Convolution},
    {"_slow_conv2d_forward", Convolution},
    {"_conv_depthwise2d", Convolution},
    {"conv_depthwise3d", Convolution},
    {"slow_conv3d_forward", Convolution},
    {"slow_conv_dilated2d", Convolution},
    {"slow_conv_dilated3d", Convolution},
    {"conv_tbc", TimeBatchConvolution, Policy::kOverride},
    {"conv_tbc_backward", TimeBatchConvolutionBackward, Policy::kOverride},
};

}  // namespace

std::span<const KernelRow> ConvolutionKernels() { return kConvolutionKernels; }

}  // namespace foretell::meta
