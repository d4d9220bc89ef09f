#include "frontends/onnx/ops/normalization.h"

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

constexpr double kDefaultEpsilon = 1e-5;
constexpr bool kUseCudnn = true;  // As PyTorch does unless told otherwise.

double EpsilonOf(const NodeContext& ctx) {
  return ctx.FloatAttribute("epsilon", kDefaultEpsilon);
}

// ---- BatchNormalization ----------------------------------------------------

struct BatchNormInputs {
  at::Tensor x, scale, bias, mean, variance;
};

/// True when the statistics of this batch are to be used. Before version 14 the
/// optional outputs decide that, before 7 also an attribute.
bool UsesBatchStatistics(const NodeContext& ctx) {
  if (ctx.opset() < 7 && ctx.IntAttribute("is_test", 0) != 0) return false;
  if (ctx.opset() < 14) return ctx.num_outputs() > 1 && ctx.Wants(1);
  return ctx.IntAttribute("training_mode", 0) != 0;
}

/// No gradient reaches `statistic`, even where a file shares it with a weight
/// of the same values: exporters store ones and zeros once.
at::Tensor Detached(const at::Tensor& statistic) {
  return statistic.requires_grad() ? statistic.variable_data() : statistic;
}

at::Tensor BatchNorm(const NodeContext& ctx, const BatchNormInputs& in,
                     bool uses_running_statistics, bool trains) {
  const auto running = [&](const at::Tensor& statistic) {
    return uses_running_statistics
               ? std::optional<at::Tensor>(Detached(statistic))
               : std::nullopt;
  };
  const double kept = ctx.FloatAttribute("momentum", 0.9);
  return at::batch_norm(in.x, in.scale, in.bias, running(in.mean),
                        running(in.variance), trains, 1 - kept, EpsilonOf(ctx),
                        kUseCudnn);
}

/// Running statistics as ONNX defines them: of the population (divided by N).
void SetRunningStatistics(NodeContext& ctx, const BatchNormInputs& in) {
  const double kept = ctx.FloatAttribute("momentum", 0.9);
  std::vector<std::int64_t> axes = Iota(in.x.dim());
  axes.erase(axes.begin() + 1);
  const auto [variance, mean] =
      at::var_mean(in.x, axes, /*correction=*/at::Scalar(0), /*keepdim=*/false);
  ctx.Set(1, CastTo(in.mean * kept + mean * (1 - kept), in.mean.scalar_type()));
  ctx.Set(2, CastTo(in.variance * kept + variance * (1 - kept),
                    in.variance.scalar_type()));
  // Versions below 14.
  ctx.Set(3, mean);
  ctx.Set(4, variance);
}

/// Version 7 with spatial = 0: one statistic per feature instead of per
/// channel.
BatchNormInputs WithFeaturesAsChannels(const BatchNormInputs& in) {
  const auto flat = [](const at::Tensor& t) { return t.reshape(-1); };
  return {in.x.reshape({in.x.size(0), -1}), flat(in.scale), flat(in.bias),
          flat(in.mean), flat(in.variance)};
}

/// Scale and bias may be wider than the input: ATen needs either all of one
/// type or float32 parameters for a half input.
void AgreeOnTypes(BatchNormInputs& in) {
  const at::ScalarType type = in.x.scalar_type();
  const bool is_mixed = in.mean.scalar_type() != type;
  const at::ScalarType parameters =
      is_mixed && at::elementSize(type) == 2 ? at::kFloat : type;
  for (at::Tensor* t : {&in.scale, &in.bias, &in.mean, &in.variance}) {
    *t = CastTo(*t, parameters);
  }
}

/// A run in training mode updates the statistics too, as eager code in training
/// mode would, although an inference file does not ask for it.
void LowerBatchNormalization(NodeContext& ctx) {
  BatchNormInputs in = {ctx.Tensor(0), ctx.Tensor(1), ctx.Tensor(2),
                        ctx.Tensor(3), ctx.Tensor(4)};
  ctx.Check(in.x.dim() >= 2, "X has rank {}, expected at least 2", in.x.dim());
  const BatchNormInputs original = in;
  AgreeOnTypes(in);
  const std::vector<std::int64_t> shape = in.x.sizes().vec();
  if (ctx.IntAttribute("spatial", 1) == 0) in = WithFeaturesAsChannels(in);
  const bool uses_batch = UsesBatchStatistics(ctx);
  const bool trains = ctx.IsTraining();
  const at::Tensor y =
      BatchNorm(ctx, in, /*uses_running_statistics=*/!uses_batch || trains,
                /*trains=*/uses_batch || trains);
  ctx.Set(0, y.sizes() == at::IntArrayRef(shape) ? y : y.reshape(shape));
  if (uses_batch && ctx.Wants(1)) SetRunningStatistics(ctx, original);
}

// ---- Instances, groups, layers ---------------------------------------------

void LowerInstanceNormalization(NodeContext& ctx) {
  ctx.Set(0, at::instance_norm(ctx.Tensor(0), ctx.Tensor(1), ctx.Tensor(2),
                               std::nullopt, std::nullopt,
                               /*use_input_stats=*/true, /*momentum=*/0.1,
                               EpsilonOf(ctx), kUseCudnn));
}

/// Version 18 scales groups, later ones channels.
void LowerGroupNormalization(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const std::int64_t groups =
      ctx.RequireAttribute("num_groups", Attribute::Kind::kInt).i;
  ctx.Check(x.dim() >= 2 && groups > 0 && x.size(1) % groups == 0,
            "num_groups {} does not divide the channels of X", groups);
  const auto per_channel = [&](size_t i) {
    const at::Tensor parameter = CastTo(ctx.Tensor(i), x.scalar_type());
    return parameter.numel() == x.size(1)
               ? parameter
               : parameter.repeat_interleave(x.size(1) / groups);
  };
  ctx.Set(0, at::group_norm(x, groups, per_channel(1), per_channel(2),
                            EpsilonOf(ctx), kUseCudnn));
}

void LowerLayerNormalization(NodeContext& ctx) {
  LayerNormalize(ctx, ctx.Tensor(0), {ctx.Tensor(1), ctx.OptionalTensor(2)});
}

void LowerRmsNormalization(NodeContext& ctx) {
  RmsNormalize(ctx, ctx.Tensor(0), ctx.Tensor(1), {.inverse_output = 1});
}

/// Dimensions of `x` starting at attribute `axis`.
std::vector<std::int64_t> NormalizedShape(const NodeContext& ctx,
                                          const at::Tensor& x) {
  const std::int64_t axis = AxisAttribute(ctx, -1, x.dim());
  return x.sizes().slice(static_cast<size_t>(axis)).vec();
}

/// Type of the saved statistics: attribute `stash_type`, float32 by default.
at::ScalarType StashType(const NodeContext& ctx) {
  return ctx.TypeOf(ctx.IntAttribute("stash_type", kOnnxFloat));
}

/// `parameter` as ATen needs it: exactly of `shape` and of the type of `x`.
/// Undefined when the caller has to multiply or add it by broadcasting.
at::Tensor Fitting(const at::Tensor& parameter, const at::Tensor& x,
                   at::IntArrayRef shape) {
  if (!parameter.defined() ||
      !TypesAgree(parameter.scalar_type(), x.scalar_type())) {
    return {};
  }
  if (parameter.sizes() == shape) return parameter;
  const bool has_all = parameter.numel() == Product(shape) &&
                       parameter.dim() <= static_cast<int64_t>(shape.size());
  return has_all ? parameter.reshape(shape) : at::Tensor();
}

// ---- Other normalizations --------------------------------------------------

/// Mean of the squares over `size` neighbouring channels, zeros beyond the
/// ends: an average pooling across channels, as PyTorch's
/// local_response_norm does it.
at::Tensor NeighbourhoodMean(const at::Tensor& squares, std::int64_t size) {
  const std::int64_t front = (size - 1) / 2;
  const std::int64_t back = size - 1 - front;
  if (squares.dim() == 3) {
    const at::Tensor padded =
        at::constant_pad_nd(squares.unsqueeze(1), {0, 0, front, back});
    return at::avg_pool2d(padded, {size, 1}, {1, 1}).squeeze(1);
  }
  const auto sizes = squares.sizes();
  const at::Tensor volume =
      squares.reshape({sizes[0], 1, sizes[1], sizes[2], -1});
  const at::Tensor padded =
      at::constant_pad_nd(volume, {0, 0, 0, 0, front, back});
  return at::avg_pool3d(padded, {size, 1, 1}, {1, 1, 1}).reshape(sizes);
}

void LowerLrn(NodeContext& ctx) {
  const at::Tensor input = ctx.Tensor(0);
  ctx.Check(input.dim() >= 3, "X has rank {}, expected at least 3",
            input.dim());
  const std::int64_t size =
      ctx.RequireAttribute("size", Attribute::Kind::kInt).i;
  ctx.Check(size > 0, "size is {}", size);
  const at::Tensor x = FloatOnCpu(input);
  const at::Tensor mean = NeighbourhoodMean(x * x, size);
  const at::Tensor divisor = at::pow(mean * ctx.FloatAttribute("alpha", 1e-4) +
                                         ctx.FloatAttribute("bias", 1.0),
                                     ctx.FloatAttribute("beta", 0.75));
  ctx.Set(0, CastTo(x / divisor, input.scalar_type()));
}

/// Vectors of norm zero stay zero.
void LowerLpNormalization(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const std::int64_t axis = AxisAttribute(ctx, -1, x.dim());
  const std::int64_t order = ctx.IntAttribute("p", 2);
  ctx.Check(order == 1 || order == 2, "p is {}, expected 1 or 2", order);
  const at::Tensor norm =
      at::linalg_vector_norm(x, order, axis, /*keepdim=*/true);
  ctx.Set(0, x / norm.masked_fill(at::eq(norm, 0), 1));
}

void LowerMeanVarianceNormalization(NodeContext& ctx) {
  constexpr double kEpsilon = 1e-9;  // Of the function that ONNX defines.
  const at::Tensor x = ctx.Tensor(0);
  const std::vector<std::int64_t> axes =
      NormalizeAxes(ctx, ctx.IntsAttribute("axes", {0, 2, 3}), x.dim());
  const auto [variance, mean] =
      at::var_mean(x, axes, /*correction=*/at::Scalar(0), /*keepdim=*/true);
  ctx.Set(0, (x - mean) / (at::sqrt(variance) + kEpsilon));
}

constexpr OnnxOperator kNormalizationOperators[] = {
    // Below 7: is_test; below 9: spatial; from 14: training_mode.
    {"BatchNormalization", {1, kAny}, &LowerBatchNormalization},
    {"GroupNormalization", {18, kAny}, &LowerGroupNormalization},
    {"InstanceNormalization", {1, kAny}, &LowerInstanceNormalization},
    {"LRN", {1, kAny}, &LowerLrn},
    // Below 17 as ONNX Runtime's optimiser writes it.
    {"LayerNormalization", {1, kAny}, &LowerLayerNormalization},
    {"LpNormalization", {1, kAny}, &LowerLpNormalization},
    {"MeanVarianceNormalization", {9, kAny}, &LowerMeanVarianceNormalization},
    {"RMSNormalization", {23, kAny}, &LowerRmsNormalization},
    // Not of ONNX; ONNX Runtime's optimiser writes it into this domain.
    {"SimplifiedLayerNormalization", {1, kAny}, &LowerRmsNormalization},
};

}  // namespace

void LayerNormalize(NodeContext& ctx, const at::Tensor& x, const Affine& affine,
                    const NormalizationOptions& options) {
  const std::vector<std::int64_t> shape = NormalizedShape(ctx, x);
  const double epsilon = ctx.FloatAttribute("epsilon", options.default_epsilon);
  const at::Tensor scale = Fitting(affine.scale, x, shape);
  // A bias cannot be applied inside if the scale has to be applied outside.
  const bool scales_inside = scale.defined() || !affine.scale.defined();
  const at::Tensor bias =
      scales_inside ? Fitting(affine.bias, x, shape) : at::Tensor();
  at::Tensor y;
  if (ctx.Wants(options.mean_output) || ctx.Wants(options.inverse_output)) {
    const auto [normalized, mean, inverse_deviation] =
        at::native_layer_norm(x, shape, scale, bias, epsilon);
    y = normalized;
    ctx.Set(options.mean_output, CastTo(mean, StashType(ctx)));
    ctx.Set(options.inverse_output, CastTo(inverse_deviation, StashType(ctx)));
  } else {
    y = at::layer_norm(x, shape, scale, bias, epsilon, kUseCudnn);
  }
  if (!scales_inside) y = y * affine.scale;
  if (affine.bias.defined() && !bias.defined()) y = y + affine.bias;
  ctx.Set(0, y);
}

void RmsNormalize(NodeContext& ctx, const at::Tensor& x,
                  const at::Tensor& scale,
                  const NormalizationOptions& options) {
  const std::vector<std::int64_t> shape = NormalizedShape(ctx, x);
  const double epsilon = ctx.FloatAttribute("epsilon", options.default_epsilon);
  const at::Tensor inside = Fitting(scale, x, shape);
  const at::Tensor y = at::rms_norm(x, shape, inside, epsilon);
  ctx.Set(0, inside.defined() ? y : CastTo(y, scale.scalar_type()) * scale);
  if (!ctx.Wants(options.inverse_output)) return;
  const std::int64_t first = x.dim() - static_cast<std::int64_t>(shape.size());
  std::vector<std::int64_t> axes = Iota(x.dim());
  axes.erase(axes.begin(), axes.begin() + first);
  const at::Tensor number = CastTo(x, StashType(ctx));
  const at::Tensor mean_square =
      at::mean(number * number, axes, /*keepdim=*/true);
  ctx.Set(options.inverse_output, at::rsqrt(mean_square + epsilon));
}

std::span<const OnnxOperator> NormalizationOperators() {
  return kNormalizationOperators;
}

}  // namespace foretell::onnx
