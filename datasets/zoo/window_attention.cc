#include "datasets/zoo/window_attention.h"

#include <algorithm>
#include <cmath>

#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

constexpr double kMasked = -100;

/// Row of the bias table for each pair of tokens: the difference of rows and
/// that of columns, both counted from 0, as digits of one number.
at::Tensor RelativePositions(std::int64_t window) {
  const at::Tensor i = at::arange(window, at::kLong);
  const std::int64_t span = 2 * window - 1;
  const at::Tensor difference =
      i.view({window, 1}) - i.view({1, window}) + (window - 1);
  const at::Tensor index = difference.view({window, 1, window, 1}) * span +
                           difference.view({1, window, 1, window});
  return index.view({window * window, window * window});
}

}  // namespace

WindowShape WindowShape::Fit(std::int64_t resolution, std::int64_t window,
                             bool shifted) {
  const bool is_whole = resolution <= window;
  return {.window = std::min(resolution, window),
          .shift = shifted && !is_whole ? window / 2 : 0};
}

at::Tensor SplitWindows(const at::Tensor& x, std::int64_t window) {
  const at::Tensor parts = x.view({x.size(0), x.size(1) / window, window,
                                   x.size(2) / window, window, x.size(3)})
                               .permute({0, 1, 3, 2, 4, 5})
                               .contiguous();
  return parts.view({-1, window * window, x.size(3)});
}

at::Tensor MergeWindows(const at::Tensor& windows, std::int64_t window,
                        std::int64_t side) {
  const std::int64_t count = side / window;
  const at::Tensor image =
      windows.view({-1, count, count, window, window, windows.size(-1)})
          .permute({0, 1, 3, 2, 4, 5})
          .contiguous();
  return image.view({-1, side, side, windows.size(-1)});
}

at::Tensor ShiftMask(const WindowShape& shape, std::int64_t padded) {
  // Three stripes a side: before the last window, in it, and what was rolled
  // in from the other side.
  const at::Tensor i = at::arange(padded, at::kLong);
  const at::Tensor stripe =
      i.ge(padded - shape.window).to(at::kLong) + i.ge(padded - shape.shift);
  const at::Tensor region =
      stripe.view({padded, 1}) * 3 + stripe.view({1, padded});
  const at::Tensor ids =
      SplitWindows(region.view({1, padded, padded, 1}), shape.window)
          .squeeze(-1);
  const at::Tensor differ = ids.unsqueeze(1).ne(ids.unsqueeze(2));
  return at::zeros(differ.sizes()).masked_fill_(differ, kMasked);
}

WindowAttention::WindowAttention(std::int64_t width, std::int64_t heads,
                                 std::int64_t window)
    : heads_(heads), scale_(1 / std::sqrt(static_cast<double>(width / heads))) {
  const std::int64_t span = 2 * window - 1;
  table_ = register_parameter("relative_position_bias_table",
                              at::zeros({span * span, heads}));
  index_ =
      register_buffer("relative_position_index", RelativePositions(window));
  qkv_ = register_module("qkv", Dense(width, 3 * width));
  proj_ = register_module("proj", Dense(width, width));
}

at::Tensor WindowAttention::forward(const at::Tensor& x,
                                    const at::Tensor& mask) {
  const ModuleScope scope(*this);
  const std::int64_t tokens = x.size(1);
  const at::Tensor qkv =
      qkv_->forward(x)
          .reshape({x.size(0), tokens, 3, heads_, x.size(2) / heads_})
          .permute({2, 0, 3, 1, 4});
  std::vector<at::Tensor> parts = qkv.unbind(0);
  parts[0] = parts[0] * scale_;
  at::Tensor weights = at::matmul(parts[0], parts[1].transpose(-2, -1));
  weights = weights + Bias();
  if (mask.defined()) {
    weights = weights.view({-1, mask.size(0), heads_, tokens, tokens}) +
              mask.unsqueeze(1).unsqueeze(0);
    weights = weights.view({-1, heads_, tokens, tokens});
  }
  weights = weights.softmax(-1);
  at::Tensor y = at::matmul(weights, parts[2]);
  y = y.transpose(1, 2).reshape(x.sizes());
  return proj_->forward(y);
}

at::Tensor WindowAttention::Bias() const {
  const std::int64_t tokens = index_.size(0);
  at::Tensor bias = table_.index({index_.view(-1)});
  bias = bias.view({tokens, tokens, heads_});
  bias = bias.permute({2, 0, 1}).contiguous();
  return bias.unsqueeze(0);
}

}  // namespace foretell::zoo
