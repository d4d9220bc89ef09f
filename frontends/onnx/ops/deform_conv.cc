// Deformable convolution, for which ATen has no operator. Eager code calls
// torchvision's; if that is registered for the device, so do we.
//
// Elsewhere it is put together. Every output position looks at K = kH · kW
// places of the input that its offsets displace from the regular grid. The sum
// over them is a matrix product
//
//     Y[n, g] = W[g] · columns[n, g],   columns: [C / groups · K, oH · oW],
//
// once the displaced places have been sampled bilinearly, which is exactly what
// grid_sampler does for a grid of K · oH by oW places. Sampling with
// align_corners = false maps pixel p of a side of s pixels to (2p + 1) / s − 1,
// which stays finite for a side of one pixel.

#include <ATen/ATen.h>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/ops/lowerings.h"
#include "frontends/onnx/ops/torchvision.h"
#include "frontends/onnx/ops/window.h"

namespace foretell::onnx {
namespace {

struct Sizes {
  std::int64_t batch, channels, kernel, offset_groups, height, width;
};

/// Undisplaced place along axis `i` of every kernel element and output:
/// [kernel, outputs] with `outputs` positions.
at::Tensor RegularPlaces(const Window& w, size_t i, std::int64_t outputs,
                         const at::TensorOptions& options) {
  const at::Tensor first =
      at::arange(outputs, options).mul(w.strides[i]).sub(w.pads_begin[i]);
  const at::Tensor within =
      at::arange(w.kernel[i], options).mul(w.dilations[i]);
  return within.unsqueeze(1).add(first);
}

/// Pixel positions as coordinates in [−1, 1] of a side of `size` pixels.
at::Tensor Normalized(const at::Tensor& pixels, std::int64_t size) {
  const auto side = static_cast<double>(size);
  return pixels.mul(2 / side).add(1 / side - 1);
}

/// Grid [N · offset_groups, K · oH, oW, 2] of the displaced places, x first.
at::Tensor SamplingGrid(const at::Tensor& x, const at::Tensor& offset,
                        const Window& w, const Sizes& s) {
  const std::int64_t kh = w.kernel[0], kw = w.kernel[1];
  const at::Tensor moved =
      offset.reshape({s.batch * s.offset_groups, kh, kw, 2, s.height, s.width});
  const at::Tensor rows = RegularPlaces(w, 0, s.height, offset.options());
  const at::Tensor columns = RegularPlaces(w, 1, s.width, offset.options());
  const at::Tensor ys =
      moved.select(3, 0).add(rows.reshape({kh, 1, s.height, 1}));
  const at::Tensor xs =
      moved.select(3, 1).add(columns.reshape({1, kw, 1, s.width}));
  return at::stack({Normalized(xs, x.size(3)), Normalized(ys, x.size(2))}, -1)
      .reshape({s.batch * s.offset_groups, s.kernel * s.height, s.width, 2});
}

/// Sampled and masked input: [N, C, K, oH · oW].
at::Tensor SampledColumns(const at::Tensor& x, const at::Tensor& grid,
                          const at::Tensor& mask, const Sizes& s) {
  const std::int64_t per_group = s.channels / s.offset_groups;
  const at::Tensor grouped =
      x.reshape({s.batch * s.offset_groups, per_group, x.size(2), x.size(3)});
  at::Tensor columns =
      at::grid_sampler_2d(grouped, grid, /*interpolation_mode=*/0,
                          /*padding_mode=*/0, /*align_corners=*/false)
          .reshape({s.batch, s.offset_groups, per_group, s.kernel,
                    s.height * s.width});
  if (mask.defined()) {
    columns = columns.mul(mask.reshape(
        {s.batch, s.offset_groups, 1, s.kernel, s.height * s.width}));
  }
  return columns.reshape({s.batch, s.channels, s.kernel, s.height * s.width});
}

/// The result of torchvision's operator, undefined if it cannot be used.
at::Tensor WithTorchvision(NodeContext& ctx, const at::Tensor& x,
                           const at::Tensor& weight, const at::Tensor& offset,
                           const Window& w, std::int64_t groups,
                           std::int64_t offset_groups) {
  if (!w.HasSymmetricPads()) return {};
  const at::Tensor bias = ctx.OptionalTensor(3);
  const at::Tensor mask = ctx.OptionalTensor(4);
  return CallTorchvision(
      "deform_conv2d", x.device(),
      {x, weight, offset,
       mask.defined() ? mask : at::zeros({x.size(0), 1}, x.options()),
       bias.defined() ? bias : at::zeros({weight.size(0)}, x.options()),
       w.strides[0], w.strides[1], w.pads_begin[0], w.pads_begin[1],
       w.dilations[0], w.dilations[1], groups, offset_groups, mask.defined()});
}

Sizes CheckedSizes(const NodeContext& ctx, const at::Tensor& x,
                   const at::Tensor& weight, const at::Tensor& offset,
                   std::int64_t groups) {
  if (x.dim() != 4) {
    ctx.Fail(ErrorCode::kUnsupported,
             "input has rank {}, foretell knows rank 4", x.dim());
  }
  const Sizes s{.batch = x.size(0),
                .channels = x.size(1),
                .kernel = weight.size(2) * weight.size(3),
                .offset_groups = ctx.IntAttribute("offset_group", 1),
                .height = offset.size(2),
                .width = offset.size(3)};
  ctx.Check(
      groups > 0 && weight.size(1) * groups == s.channels &&
          weight.size(0) % groups == 0,
      "group {} does not divide the {} input channels as the weight expects",
      groups, s.channels);
  ctx.Check(s.offset_groups > 0 && s.channels % s.offset_groups == 0,
            "offset_group {} does not divide {} channels", s.offset_groups,
            s.channels);
  ctx.Check(offset.size(1) == s.offset_groups * s.kernel * 2,
            "offset has {} channels, expected {}", offset.size(1),
            s.offset_groups * s.kernel * 2);
  return s;
}

}  // namespace

void LowerDeformConv(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor weight = ctx.Tensor(1);
  const at::Tensor offset = ctx.Tensor(2);
  const at::Tensor bias = ctx.OptionalTensor(3);
  const std::int64_t groups = ctx.IntAttribute("group", 1);
  ctx.Check(weight.dim() == 4 && offset.dim() == 4,
            "weight and offset have ranks {} and {}, expected 4 and 4",
            weight.dim(), offset.dim());
  const Sizes s = CheckedSizes(ctx, x, weight, offset, groups);
  const Window window =
      ReadWindow(ctx, weight.sizes().slice(2).vec(), x.sizes().slice(2).vec());
  const at::Tensor whole =
      WithTorchvision(ctx, x, weight, offset, window, groups, s.offset_groups);
  if (whole.defined()) {
    ctx.Set(0, whole);
    return;
  }
  const at::Tensor columns =
      SampledColumns(x, SamplingGrid(x, offset, window, s),
                     ctx.OptionalTensor(4), s)
          .reshape({s.batch, groups, s.channels / groups * s.kernel,
                    s.height * s.width});
  const std::int64_t out_channels = weight.size(0);
  at::Tensor y =
      at::matmul(weight.reshape({groups, out_channels / groups, -1}), columns)
          .reshape({s.batch, out_channels, s.height, s.width});
  if (bias.defined()) y = y.add(bias.reshape({1, out_channels, 1, 1}));
  ctx.Set(0, y);
}

}  // namespace foretell::onnx
