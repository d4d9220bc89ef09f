#include "frontends/onnx/ops/window.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <utility>

#include "src/core/checked.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

/// Attribute `name` with one positive element for each of `rank` axes.
Ints PerAxis(const NodeContext& ctx, std::string_view name, size_t rank) {
  Ints values = ctx.IntsAttribute(name, Ints(rank, 1));
  if (values.size() != rank) {
    ctx.Fail(ErrorCode::kCorrupt, "{} has {}, expected {}", name,
             Counted(values.size(), "element"), rank);
  }
  for (const std::int64_t value : values) {
    if (value <= 0) {
      ctx.Fail(ErrorCode::kCorrupt, "{} holds {}, expected a positive number",
               name, value);
    }
  }
  return values;
}

void ReadExplicitPads(const NodeContext& ctx, Window& window) {
  const size_t rank = window.rank();
  const Ints pads = ctx.IntsAttribute("pads", Ints(2 * rank, 0));
  if (pads.size() != 2 * rank) {
    ctx.Fail(ErrorCode::kCorrupt, "pads has {}, expected {}",
             Counted(pads.size(), "element"), 2 * rank);
  }
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  window.pads_begin.assign(pads.begin(), middle);
  window.pads_end.assign(middle, pads.end());
}

void ComputeSamePads(Window& window, const Ints& spatial, bool upper) {
  for (size_t i = 0; i < window.rank(); ++i) {
    const std::int64_t outputs = CeilDiv(spatial[i], window.strides[i]);
    const std::int64_t total = std::max<std::int64_t>(
        (outputs - 1) * window.strides[i] + window.Extent(i) - spatial[i], 0);
    const std::int64_t less = total / 2;
    window.pads_begin.push_back(upper ? less : total - less);
    window.pads_end.push_back(upper ? total - less : less);
  }
}

}  // namespace

bool Window::HasSymmetricPads() const {
  return pads_begin == pads_end &&
         std::none_of(pads_begin.begin(), pads_begin.end(),
                      [](std::int64_t pad) { return pad < 0; });
}

bool Window::HasDilation() const {
  return std::any_of(dilations.begin(), dilations.end(),
                     [](std::int64_t dilation) { return dilation != 1; });
}

Ints Window::PadsLastAxisFirst() const {
  Ints pads;
  for (size_t i = rank(); i-- > 0;) {
    pads.push_back(pads_begin[i]);
    pads.push_back(pads_end[i]);
  }
  return pads;
}

Ints SpatialSizes(const NodeContext& ctx, const at::Tensor& x) {
  if (x.dim() < 3) {
    ctx.Fail(ErrorCode::kCorrupt, "input has rank {}, expected at least 3",
             x.dim());
  }
  return x.sizes().slice(2).vec();
}

Window ReadWindow(const NodeContext& ctx, Ints kernel, const Ints& spatial) {
  const size_t rank = spatial.size();
  if (kernel.size() != rank) {
    ctx.Fail(ErrorCode::kCorrupt, "kernel_shape has rank {}, expected {}",
             kernel.size(), rank);
  }
  for (const std::int64_t size : kernel) {
    ctx.Check(size > 0, "kernel_shape holds {}, expected a positive number",
              size);
  }
  Window window{.kernel = std::move(kernel),
                .strides = PerAxis(ctx, "strides", rank),
                .dilations = PerAxis(ctx, "dilations", rank)};
  const std::string auto_pad = ctx.StringAttribute("auto_pad", "NOTSET");
  if (auto_pad == "NOTSET" || auto_pad.empty()) {
    ReadExplicitPads(ctx, window);
  } else if (auto_pad == "VALID") {
    window.pads_begin.assign(rank, 0);
    window.pads_end.assign(rank, 0);
  } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    ComputeSamePads(window, spatial, auto_pad == "SAME_UPPER");
  } else {
    ctx.Fail(ErrorCode::kCorrupt,
             "auto_pad is '{}', expected NOTSET, VALID, SAME_UPPER "
             "or SAME_LOWER",
             auto_pad);
  }
  return window;
}

at::Tensor PadSpatially(const at::Tensor& x, const Window& window,
                        double value) {
  return at::constant_pad_nd(x, window.PadsLastAxisFirst(), value);
}

}  // namespace foretell::onnx
