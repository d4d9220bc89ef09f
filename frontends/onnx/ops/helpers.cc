#include "frontends/onnx/ops/helpers.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>

#include "foretell/graph.h"
#include "src/core/numbers.h"
#include "src/program/recorder.h"

namespace foretell::onnx {

std::int64_t NormalizeAxis(const NodeContext& ctx, std::int64_t axis,
                           std::int64_t rank) {
  const std::int64_t bound = std::max<std::int64_t>(rank, 1);
  if (axis < -bound || axis >= bound) {
    ctx.Fail(ErrorCode::kCorrupt, "axis {} is out of range for rank {}", axis,
             rank);
  }
  return axis < 0 ? axis + bound : axis;
}

std::int64_t AxisAttribute(const NodeContext& ctx, std::int64_t fallback,
                           std::int64_t rank) {
  return NormalizeAxis(ctx, ctx.IntAttribute("axis", fallback), rank);
}

std::vector<std::int64_t> NormalizeAxes(const NodeContext& ctx,
                                        std::vector<std::int64_t> axes,
                                        std::int64_t rank) {
  for (std::int64_t& axis : axes) axis = NormalizeAxis(ctx, axis, rank);
  std::vector<std::int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
  if (repeated != sorted.end()) {
    ctx.Fail(ErrorCode::kCorrupt, "axis {} is given twice", *repeated);
  }
  return axes;
}

std::optional<std::vector<std::int64_t>> IntsInputOrAttribute(
    NodeContext& ctx, size_t input, std::string_view name) {
  if (ctx.Has(input)) return ctx.Ints(input);
  if (ctx.HasAttribute(name)) return ctx.IntsAttribute(name, {});
  return std::nullopt;
}

at::Tensor SecondOperand(NodeContext& ctx, const at::Tensor& first) {
  at::Tensor second = ctx.Operand(1);
  if (ctx.opset() >= 7 || !ctx.HasAttribute("axis")) return second;
  const std::int64_t axis = AxisAttribute(ctx, 0, first.dim());
  while (second.dim() < first.dim() - axis) second = second.unsqueeze(-1);
  return second;
}

std::vector<std::int64_t> Iota(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::int64_t Product(at::IntArrayRef dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1},
                         std::multiplies<>());
}

at::Scalar HostScalar(NodeContext& ctx, size_t input) {
  const at::Tensor value = ctx.Host(input);
  if (value.numel() != 1) {
    ctx.Fail(ErrorCode::kCorrupt, "input {} has {}, expected 1", input,
             Counted(value.numel(), "element"));
  }
  return value.item();
}

at::Tensor MovedTo(const at::Tensor& host, at::Device device) {
  if (host.device() == device) return host;
  const UnrecordedScope unrecorded(TensorRole::kBuffer);
  return host.to(device);
}

at::Tensor ViewOfWeight(const at::Tensor& weight,
                        at::Tensor (*view)(const at::Tensor&)) {
  const UnrecordedScope unrecorded(TensorRole::kParameter);
  return view(weight);
}

at::Tensor WithValues(at::Tensor y, const std::function<at::Tensor()>& exact) {
  if (y.is_meta()) return y;
  const at::NoGradGuard no_grad;
  const UntracedScope untraced;
  y.copy_(exact());
  return y;
}

void RequireData(const NodeContext& ctx, const at::Tensor& tensor) {
  if (!tensor.is_meta()) return;
  ctx.Fail(ErrorCode::kUnsupported,
           "the shape of the result depends on data, which a trace without "
           "arithmetic does not have; use --trace cpu");
}

void FailAttribute(const NodeContext& ctx, std::string_view name,
                   std::string_view value) {
  ctx.Fail(ErrorCode::kUnsupported, "attribute '{}' = '{}' is not supported",
           name, value);
}

}  // namespace foretell::onnx
