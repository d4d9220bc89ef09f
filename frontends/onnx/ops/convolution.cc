#include "frontends/onnx/ops/convolution.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/lowerings.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

std::optional<at::Tensor> MaybeBias(const at::Tensor& bias) {
  return bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt;
}

[[noreturn]] void FailRank(const NodeContext& ctx, size_t spatial_rank) {
  ctx.Fail(ErrorCode::kUnsupported,
           "convolution over {} spatial axes, foretell knows 1 to 3",
           spatial_rank);
}

void LowerConv(NodeContext& ctx) { ctx.Set(0, ConvolveInputs(ctx)); }

// ---- ConvTranspose ---------------------------------------------------------

/// A transposed convolution: the window, whose pads crop the output, and the
/// elements that `output_padding` appends.
struct TransposedWindow {
  Window window;
  Ints output_padding;
};

/// Chooses pads that give `output_shape`. A negative total means more output
/// than the windows reach; the rest is then at the end.
void FitOutputShape(TransposedWindow& t, const Ints& spatial,
                    const Ints& output_shape, bool upper) {
  Window& window = t.window;
  for (size_t i = 0; i < window.rank(); ++i) {
    const std::int64_t total = window.strides[i] * (spatial[i] - 1) +
                               t.output_padding[i] + window.Extent(i) -
                               output_shape[i];
    const std::int64_t less = total < 0 ? 0 : total / 2;
    const std::int64_t more = total - less;
    const bool extra_at_end = upper || total < 0;
    window.pads_begin[i] = extra_at_end ? less : more;
    window.pads_end[i] = extra_at_end ? more : less;
  }
}

TransposedWindow ReadTransposedWindow(const NodeContext& ctx,
                                      const at::Tensor& weight,
                                      const Ints& spatial) {
  Ints kernel =
      ctx.IntsAttribute("kernel_shape", weight.sizes().slice(2).vec());
  TransposedWindow t{.window = ReadWindow(ctx, std::move(kernel), spatial)};
  const size_t rank = spatial.size();
  t.output_padding = ctx.IntsAttribute("output_padding", Ints(rank, 0));
  ctx.Check(t.output_padding.size() == rank,
            "output_padding has {}, expected {}",
            Counted(t.output_padding.size(), "element"), rank);
  const std::string auto_pad = ctx.StringAttribute("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  Ints output_shape = ctx.IntsAttribute("output_shape", {});
  if (output_shape.empty() && !same) return t;
  if (output_shape.empty()) {
    for (size_t i = 0; i < rank; ++i) {
      output_shape.push_back(spatial[i] * t.window.strides[i]);
    }
  }
  // Some exporters write the whole shape, batch and channels included.
  if (output_shape.size() == rank + 2) {
    output_shape.erase(output_shape.begin(), output_shape.begin() + 2);
  }
  ctx.Check(output_shape.size() == rank, "output_shape has {}, expected {}",
            Counted(output_shape.size(), "element"), rank);
  FitOutputShape(t, spatial, output_shape, auto_pad == "SAME_UPPER");
  return t;
}

at::Tensor ConvTransposeOf(const NodeContext& ctx, const at::Tensor& x,
                           const at::Tensor& weight, const at::Tensor& bias,
                           const TransposedWindow& t, std::int64_t groups) {
  const Window& w = t.window;
  const auto b = MaybeBias(bias);
  switch (w.rank()) {
    case 1:
      return at::conv_transpose1d(x, weight, b, w.strides, w.pads_begin,
                                  t.output_padding, groups, w.dilations);
    case 2:
      return at::conv_transpose2d(x, weight, b, w.strides, w.pads_begin,
                                  t.output_padding, groups, w.dilations);
    case 3:
      return at::conv_transpose3d(x, weight, b, w.strides, w.pads_begin,
                                  t.output_padding, groups, w.dilations);
    default:
      FailRank(ctx, w.rank());
  }
}

/// Turns pads that differ between the ends into output padding where ATen's
/// limit (below the stride or the dilation) allows; false where it does not.
bool FoldPadsIntoOutputPadding(TransposedWindow& t) {
  Window& w = t.window;
  for (size_t i = 0; i < w.rank(); ++i) {
    t.output_padding[i] += w.pads_begin[i] - w.pads_end[i];
    w.pads_end[i] = w.pads_begin[i];
    const std::int64_t limit = std::max(w.strides[i], w.dilations[i]);
    if (w.pads_begin[i] < 0 || t.output_padding[i] < 0 ||
        t.output_padding[i] >= limit) {
      return false;
    }
  }
  return true;
}

/// The whole output of the windows, cropped or extended afterwards; the bias is
/// added last because it also covers the extension.
at::Tensor ConvTransposeThenCrop(const NodeContext& ctx, const at::Tensor& x,
                                 const at::Tensor& weight,
                                 const at::Tensor& bias, TransposedWindow t,
                                 std::int64_t groups) {
  Window crop = t.window;
  for (size_t i = 0; i < crop.rank(); ++i) {
    crop.pads_begin[i] = -crop.pads_begin[i];
    crop.pads_end[i] = t.output_padding[i] - crop.pads_end[i];
    t.window.pads_begin[i] = 0;
    t.output_padding[i] = 0;
  }
  at::Tensor y = PadSpatially(
      ConvTransposeOf(ctx, x, weight, at::Tensor(), t, groups), crop, 0);
  if (!bias.defined()) return y;
  Ints shape(static_cast<size_t>(y.dim()), 1);
  shape[1] = bias.numel();
  return y.add(bias.reshape(shape));
}

void LowerConvTranspose(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor weight = ctx.Tensor(1);
  const at::Tensor bias = ctx.OptionalTensor(2);
  const std::int64_t groups = ctx.IntAttribute("group", 1);
  const Ints spatial = SpatialSizes(ctx, x);
  ctx.Check(weight.dim() == x.dim(), "weight has rank {}, expected {}",
            weight.dim(), x.dim());
  const TransposedWindow t = ReadTransposedWindow(ctx, weight, spatial);
  TransposedWindow folded = t;
  ctx.Set(0, FoldPadsIntoOutputPadding(folded)
                 ? ConvTransposeOf(ctx, x, weight, bias, folded, groups)
                 : ConvTransposeThenCrop(ctx, x, weight, bias, t, groups));
}

// ---- CausalConvWithState ---------------------------------------------------

void LowerCausalConvWithState(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor weight = ctx.Tensor(1);
  const at::Tensor past = ctx.OptionalTensor(3);
  ctx.Check(x.dim() == 3 && weight.dim() == 3,
            "input and weight have ranks {} and {}, expected 3 and 3", x.dim(),
            weight.dim());
  const std::int64_t carried = weight.size(2) - 1;
  const at::Tensor padded = past.defined()
                                ? at::cat({past, x}, 2)
                                : at::constant_pad_nd(x, Ints{carried, 0}, 0);
  const Ints one = {1}, none = {0};
  at::Tensor y = at::conv1d(padded, weight, MaybeBias(ctx.OptionalTensor(2)),
                            /*stride=*/one, /*padding=*/none, /*dilation=*/one,
                            /*groups=*/x.size(1));
  const std::string activation = ctx.StringAttribute("activation", "none");
  if (activation == "silu" || activation == "swish") {
    y = at::silu(y);
  } else if (activation != "none") {
    ctx.Fail(ErrorCode::kUnsupported, "activation '{}'", activation);
  }
  ctx.Set(0, y);
  if (ctx.Wants(1)) {
    ctx.Set(1, padded.slice(2, padded.size(2) - carried, padded.size(2)));
  }
}

}  // namespace

at::Tensor Convolve(const NodeContext& ctx, const at::Tensor& x,
                    const at::Tensor& weight, const at::Tensor& bias,
                    const Window& window, std::int64_t groups) {
  if (!window.HasSymmetricPads()) {
    Window bare = window;
    bare.pads_begin.assign(window.rank(), 0);
    bare.pads_end = bare.pads_begin;
    return Convolve(ctx, PadSpatially(x, window, 0), weight, bias, bare,
                    groups);
  }
  const auto b = MaybeBias(bias);
  switch (window.rank()) {
    case 1:
      return at::conv1d(x, weight, b, window.strides, window.pads_begin,
                        window.dilations, groups);
    case 2:
      return at::conv2d(x, weight, b, window.strides, window.pads_begin,
                        window.dilations, groups);
    case 3:
      return at::conv3d(x, weight, b, window.strides, window.pads_begin,
                        window.dilations, groups);
    default:
      FailRank(ctx, window.rank());
  }
}

at::Tensor ConvolveInputs(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor weight = ctx.Tensor(1);
  const at::Tensor bias = ctx.OptionalTensor(2);
  const Ints spatial = SpatialSizes(ctx, x);
  ctx.Check(weight.dim() == x.dim(), "weight has rank {}, expected {}",
            weight.dim(), x.dim());
  const Ints kernel = weight.sizes().slice(2).vec();
  const Ints declared = ctx.IntsAttribute("kernel_shape", kernel);
  ctx.Check(declared == kernel, "kernel_shape differs from the weight's");
  const Window window = ReadWindow(ctx, kernel, spatial);
  return Convolve(ctx, x, weight, bias, window, ctx.IntAttribute("group", 1));
}

namespace {

constexpr OnnxOperator kConvolutionOperators[] = {
    {"CausalConvWithState", {27, kAny}, &LowerCausalConvWithState},
    {"Conv", {1, kAny}, &LowerConv},
    {"ConvTranspose", {1, kAny}, &LowerConvTranspose},
    {"DeformConv", {19, kAny}, &LowerDeformConv},
};

}  // namespace

std::span<const OnnxOperator> ConvolutionOperators() {
  return kConvolutionOperators;
}

}  // namespace foretell::onnx
