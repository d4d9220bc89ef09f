// Regions of interest.
//
// Eager code calls torchvision's roi_align and roi_pool; if they are registered
// for the device (they always are for the meta device), so do we. The
// loops here serve the CPU without torchvision, and the maximum of RoiAlign,
// which torchvision lacks.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/lowerings.h"
#include "frontends/onnx/ops/torchvision.h"
#include "frontends/onnx/ops/type_support.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

struct RoiShape {
  std::int64_t rois, channels, height, width;  ///< Sizes of the input.
  std::int64_t pooled_height, pooled_width;
  double scale = 1;

  std::vector<std::int64_t> Output() const {
    return {rois, channels, pooled_height, pooled_width};
  }
};

RoiShape ReadShape(const NodeContext& ctx, const at::Tensor& x,
                   const at::Tensor& rois, std::int64_t columns) {
  ctx.Check(x.dim() == 4 && rois.dim() == 2 && rois.size(1) == columns,
            "input has rank {}, expected 4, or rois are not rows of {}",
            x.dim(), columns);
  return {.rois = rois.size(0),
          .channels = x.size(1),
          .height = x.size(2),
          .width = x.size(3),
          .scale = ctx.FloatAttribute("spatial_scale", 1)};
}

/// One feature map of the input, [height, width] in row-major order.
const float* Plane(const at::Tensor& x, const RoiShape& s, std::int64_t batch,
                   std::int64_t channel) {
  return x.const_data_ptr<float>() +
         (batch * s.channels + channel) * s.height * s.width;
}

std::int64_t CheckedBatch(const NodeContext& ctx, const at::Tensor& x,
                          std::int64_t batch) {
  if (batch < 0 || batch >= x.size(0)) {
    ctx.Fail(ErrorCode::kInvalidArgument, "a region refers to image {} of {}",
             batch, x.size(0));
  }
  return batch;
}

// ---- RoiAlign --------------------------------------------------------------

/// A bilinear sample: four pixels and their weights. Weights are zero outside.
struct BilinearSample {
  std::int64_t pixel[4] = {0, 0, 0, 0};
  float weight[4] = {0, 0, 0, 0};
};

BilinearSample SampleAt(const RoiShape& s, double y, double x) {
  BilinearSample sample;
  if (y < -1 || y > static_cast<double>(s.height) || x < -1 ||
      x > static_cast<double>(s.width)) {
    return sample;
  }
  y = std::clamp<double>(y, 0, static_cast<double>(s.height - 1));
  x = std::clamp<double>(x, 0, static_cast<double>(s.width - 1));
  const auto top = static_cast<std::int64_t>(y);
  const auto left = static_cast<std::int64_t>(x);
  const std::int64_t bottom = std::min(top + 1, s.height - 1);
  const std::int64_t right = std::min(left + 1, s.width - 1);
  const double down = y - static_cast<double>(top);
  const double across = x - static_cast<double>(left);
  sample.pixel[0] = top * s.width + left;
  sample.pixel[1] = top * s.width + right;
  sample.pixel[2] = bottom * s.width + left;
  sample.pixel[3] = bottom * s.width + right;
  sample.weight[0] = static_cast<float>((1 - down) * (1 - across));
  sample.weight[1] = static_cast<float>((1 - down) * across);
  sample.weight[2] = static_cast<float>(down * (1 - across));
  sample.weight[3] = static_cast<float>(down * across);
  return sample;
}

struct AlignRule {
  bool maximum = false;       ///< mode = "max" instead of "avg".
  bool half_pixel = true;     ///< Corners lie half a pixel before.
  std::int64_t sampling = 0;  ///< Samples per bin and axis; 0: by size.
};

/// A region on the feature map, cut into bins of `bin_y` by `bin_x` pixels with
/// `rows` by `columns` samples each.
struct Region {
  double y, x, bin_y, bin_x;
  std::int64_t rows, columns;
};

Region RegionOf(const RoiShape& s, const AlignRule& rule,
                const float* corners) {
  const double offset = rule.half_pixel ? 0.5 : 0;
  const double x1 = corners[0] * s.scale - offset;
  const double y1 = corners[1] * s.scale - offset;
  double width = corners[2] * s.scale - offset - x1;
  double height = corners[3] * s.scale - offset - y1;
  if (!rule.half_pixel) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  Region region{.y = y1,
                .x = x1,
                .bin_y = height / static_cast<double>(s.pooled_height),
                .bin_x = width / static_cast<double>(s.pooled_width),
                .rows = rule.sampling,
                .columns = rule.sampling};
  if (rule.sampling == 0) {
    region.rows = static_cast<std::int64_t>(std::ceil(region.bin_y));
    region.columns = static_cast<std::int64_t>(std::ceil(region.bin_x));
  }
  return region;
}

std::vector<BilinearSample> SamplesOfBin(const RoiShape& s,
                                         const Region& region, std::int64_t ph,
                                         std::int64_t pw) {
  std::vector<BilinearSample> samples;
  for (std::int64_t i = 0; i < region.rows; ++i) {
    const double y =
        region.y + region.bin_y * (static_cast<double>(ph) +
                                   (static_cast<double>(i) + 0.5) /
                                       static_cast<double>(region.rows));
    for (std::int64_t j = 0; j < region.columns; ++j) {
      const double x =
          region.x + region.bin_x * (static_cast<double>(pw) +
                                     (static_cast<double>(j) + 0.5) /
                                         static_cast<double>(region.columns));
      samples.push_back(SampleAt(s, y, x));
    }
  }
  return samples;
}

/// ONNX takes the largest weighted pixel, not the largest interpolated value.
float Pooled(const AlignRule& rule, const std::vector<BilinearSample>& samples,
             const float* plane) {
  float sum = 0;
  float largest = samples.empty() ? 0 : -std::numeric_limits<float>::infinity();
  for (const BilinearSample& sample : samples) {
    for (int k = 0; k < 4; ++k) {
      const float part = sample.weight[k] * plane[sample.pixel[k]];
      sum += part;
      largest = std::max(largest, part);
    }
  }
  if (rule.maximum) return largest;
  return sum / static_cast<float>(std::max<size_t>(samples.size(), 1));
}

at::Tensor AlignOnCpu(const NodeContext& ctx, const at::Tensor& x,
                      const at::Tensor& rois, const at::Tensor& batches,
                      const RoiShape& s, const AlignRule& rule) {
  at::Tensor y = at::empty(s.Output(), x.options());
  float* out = y.mutable_data_ptr<float>();
  const std::int64_t bins = s.pooled_height * s.pooled_width;
  for (std::int64_t r = 0; r < s.rois; ++r) {
    const std::int64_t batch =
        CheckedBatch(ctx, x, batches.const_data_ptr<std::int64_t>()[r]);
    const Region region =
        RegionOf(s, rule, rois.const_data_ptr<float>() + 4 * r);
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      const std::vector<BilinearSample> samples =
          SamplesOfBin(s, region, bin / s.pooled_width, bin % s.pooled_width);
      for (std::int64_t c = 0; c < s.channels; ++c) {
        out[(r * s.channels + c) * bins + bin] =
            Pooled(rule, samples, Plane(x, s, batch, c));
      }
    }
  }
  return y;
}

AlignRule ReadAlignRule(const NodeContext& ctx) {
  AlignRule rule;
  const std::string mode = ctx.StringAttribute("mode", "avg");
  if (mode != "avg" && mode != "max") FailAttribute(ctx, "mode", mode);
  rule.maximum = mode == "max";
  const std::string coordinates = ctx.StringAttribute(
      "coordinate_transformation_mode",
      ctx.opset() < 16 ? "output_half_pixel" : "half_pixel");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel") {
    FailAttribute(ctx, "coordinate_transformation_mode", coordinates);
  }
  rule.half_pixel = coordinates == "half_pixel";
  rule.sampling = ctx.IntAttribute("sampling_ratio", 0);
  ctx.Check(rule.sampling >= 0 && rule.sampling <= 64, "sampling_ratio is {}",
            rule.sampling);
  return rule;
}

/// Contiguous float copy of `tensor` on the CPU.
at::Tensor OnCpu(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.to(at::kCPU, type).contiguous();
}

// ---- MaxRoiPool ------------------------------------------------------------

/// Largest pixel of rows [y1, y2) and columns [x1, x2) on the plane; 0 if the
/// region is empty.
float LargestIn(const float* plane, const RoiShape& s, std::int64_t y1,
                std::int64_t y2, std::int64_t x1, std::int64_t x2) {
  y1 = std::clamp<std::int64_t>(y1, 0, s.height);
  y2 = std::clamp<std::int64_t>(y2, 0, s.height);
  x1 = std::clamp<std::int64_t>(x1, 0, s.width);
  x2 = std::clamp<std::int64_t>(x2, 0, s.width);
  if (y1 >= y2 || x1 >= x2) return 0;
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t y = y1; y < y2; ++y) {
    largest = std::max(largest, *std::max_element(plane + y * s.width + x1,
                                                  plane + y * s.width + x2));
  }
  return largest;
}

at::Tensor MaxPoolOnCpu(const NodeContext& ctx, const at::Tensor& x,
                        const at::Tensor& rois, const RoiShape& s) {
  at::Tensor y = at::empty(s.Output(), x.options());
  float* out = y.mutable_data_ptr<float>();
  for (std::int64_t r = 0; r < s.rois; ++r) {
    const float* roi = rois.const_data_ptr<float>() + 5 * r;
    const std::int64_t batch =
        CheckedBatch(ctx, x, static_cast<std::int64_t>(roi[0]));
    const auto corner = [&](int k) {
      return static_cast<std::int64_t>(std::round(roi[k] * s.scale));
    };
    const std::int64_t left = corner(1), top = corner(2);
    const double bin_x =
        static_cast<double>(std::max<std::int64_t>(corner(3) - left + 1, 1)) /
        static_cast<double>(s.pooled_width);
    const double bin_y =
        static_cast<double>(std::max<std::int64_t>(corner(4) - top + 1, 1)) /
        static_cast<double>(s.pooled_height);
    const auto edge = [](std::int64_t from, double size, std::int64_t bin,
                         bool up) {
      const double at = static_cast<double>(bin) * size;
      return from +
             static_cast<std::int64_t>(up ? std::ceil(at) : std::floor(at));
    };
    for (std::int64_t c = 0; c < s.channels; ++c) {
      for (std::int64_t ph = 0; ph < s.pooled_height; ++ph) {
        for (std::int64_t pw = 0; pw < s.pooled_width; ++pw) {
          *out++ = LargestIn(
              Plane(x, s, batch, c), s, edge(top, bin_y, ph, false),
              edge(top, bin_y, ph + 1, true), edge(left, bin_x, pw, false),
              edge(left, bin_x, pw + 1, true));
        }
      }
    }
  }
  return y;
}

}  // namespace

void LowerRoiAlign(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor rois = ctx.Tensor(1);
  const at::Tensor batches = ctx.Tensor(2);
  RoiShape s = ReadShape(ctx, x, rois, 4);
  s.pooled_height = ctx.IntAttribute("output_height", 1);
  s.pooled_width = ctx.IntAttribute("output_width", 1);
  ctx.Check(
      s.pooled_height > 0 && s.pooled_width > 0 && batches.numel() == s.rois,
      "output sizes are not positive or batch_indices has {}",
      Counted(batches.numel(), "element"));
  const AlignRule rule = ReadAlignRule(ctx);
  if (!rule.maximum || x.is_meta()) {
    const at::Tensor boxes =
        at::cat({CastTo(batches, rois.scalar_type()).unsqueeze(1), rois}, 1);
    const at::Tensor y =
        CallTorchvision("roi_align", x.device(),
                        {x, boxes, s.scale, s.pooled_height, s.pooled_width,
                         rule.sampling == 0 ? std::int64_t{-1} : rule.sampling,
                         rule.half_pixel});
    if (y.defined()) {
      ctx.Set(0, y);
      return;
    }
  }
  RequireData(ctx, x);
  ctx.Set(0, AlignOnCpu(ctx, OnCpu(x, at::kFloat), OnCpu(rois, at::kFloat),
                        OnCpu(batches, at::kLong), s, rule)
                 .to(x.options()));
}

void LowerMaxRoiPool(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor rois = ctx.Tensor(1);
  RoiShape s = ReadShape(ctx, x, rois, 5);
  const std::vector<std::int64_t> pooled =
      ctx.IntsAttribute("pooled_shape", {});
  ctx.Check(pooled.size() == 2 && pooled[0] > 0 && pooled[1] > 0,
            "pooled_shape is not a pair of positive numbers");
  s.pooled_height = pooled[0];
  s.pooled_width = pooled[1];
  const at::Tensor y =
      CallTorchvision("roi_pool", x.device(),
                      {x, rois, s.scale, s.pooled_height, s.pooled_width});
  if (y.defined()) {
    ctx.Set(0, y);
    return;
  }
  RequireData(ctx, x);
  ctx.Set(0, MaxPoolOnCpu(ctx, OnCpu(x, at::kFloat), OnCpu(rois, at::kFloat), s)
                 .to(x.options()));
}

}  // namespace foretell::onnx
