// Nodes with which fusion/ replaces patterns of ai.onnx operators. Conditions
// that a pattern could not check without ranks and sizes are checked here; if
// one does not hold, the node computes what the pattern described, step by
// step.
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"
#include "src/program/autocast.h"
#include "src/program/recorder.h"

namespace foretell::onnx {
namespace {

constexpr double kFusedDefaultEpsilon = 1e-5;
constexpr bool kFusedUseCudnn = true;  // As PyTorch does unless told otherwise.

template <at::Tensor (*function)(const at::Tensor&)>
void LowerFunction(NodeContext& ctx) {
  ctx.Set(0, function(ctx.Tensor(0)));
}

/// The first parts of x along a dimension, one after another.
void SliceParts(NodeContext& ctx, const at::Tensor& x, std::int64_t axis) {
  for (size_t i = 0; i < ctx.num_outputs(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    ctx.Set(i, at::slice(x, axis, index, index + 1).squeeze(axis));
  }
}

/// The parts of x along a dimension whose size is the node's number of outputs,
/// or larger if the node may leave out some parts.
void LowerUnbind(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const std::int64_t axis = AxisAttribute(ctx, 0, x.dim());
  const auto count = static_cast<std::int64_t>(ctx.num_outputs());
  if (x.size(axis) > count && ctx.IntAttribute("may_leave_parts", 0) != 0) {
    SliceParts(ctx, x, axis);
    return;
  }
  const std::vector<at::Tensor> parts = at::unbind(x, axis);
  ctx.Check(std::ssize(parts) == count, "dimension {} is {}, expected {}", axis,
            parts.size(), count);
  for (size_t i = 0; i < parts.size(); ++i) ctx.Set(i, parts[i]);
}

/// For each axis in turn the elements from a begin to an end, then those before
/// the begin: one roll if the end is that of the axis.
void LowerRoll(NodeContext& ctx) {
  at::Tensor x = ctx.Tensor(0);
  const auto ints = [&](const char* name) {
    return ctx.RequireAttribute(name, Attribute::Kind::kInts).ints;
  };
  const std::vector<std::int64_t> begins = ints("begins"), ends = ints("ends");
  std::vector<std::int64_t> axes = ints("axes"), shifts;
  bool rolls = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i] = NormalizeAxis(ctx, axes[i], x.dim());
    const std::int64_t size = x.size(axes[i]);
    rolls = rolls && begins[i] >= -size && begins[i] <= size && ends[i] >= size;
    shifts.push_back(begins[i] < 0 ? -begins[i] : size - begins[i]);
  }
  if (rolls) {
    ctx.Set(0, at::roll(x, shifts, axes));
    return;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    x = at::cat({at::slice(x, axes[i], begins[i], ends[i]),
                 at::slice(x, axes[i], 0, begins[i])},
                axes[i]);
  }
  ctx.Set(0, x);
}

/// PyTorch's operator needs operands of one type, as those of the file are.
void LowerAddcmul(NodeContext& ctx) {
  ctx.Set(0, at::addcmul(ctx.Tensor(0), ctx.Tensor(1), ctx.Tensor(2)));
}

at::Tensor FusedSoftplus(const at::Tensor& x) { return at::softplus(x); }

void LowerFusedGelu(NodeContext& ctx) {
  ctx.Set(0,
          at::gelu(ctx.Tensor(0), ctx.StringAttribute("approximate", "none")));
}

// ---- Linear ----------------------------------------------------------------

void LowerLinear(NodeContext& ctx) {
  at::Tensor weight = ctx.Tensor(1);
  if (ctx.IntAttribute("weight_transposed", 0) == 0) {
    const at::Tensor stored = weight;
    weight = ViewOfWeight(weight, [](const at::Tensor& w) { return w.t(); });
    AutocastRegion::CountAsParameter(weight, stored);
  }
  ctx.Set(0, at::linear(ctx.Tensor(0), weight, ctx.OptionalTensor(2)));
}

// ---- Attention -------------------------------------------------------------

enum FusedAttentionInput : size_t {
  kFusedQuery,
  kFusedKey,
  kFusedValue,
  kFusedMask,
  kFusedFoldedShape,
  kFusedUnfoldedShape,
  kFusedTriangleShape,
  kFusedGroupedShape,
  kFusedFirstFactor,
};

/// `shape` of a Reshape of `sizes`, with 0 and -1 resolved; empty optional when
/// it does not fit.
std::optional<std::vector<std::int64_t>> Resolved(
    std::vector<std::int64_t> shape, at::IntArrayRef sizes) {
  std::int64_t known = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && i < sizes.size()) shape[i] = sizes[i];
    if (shape[i] == -1) {
      if (open) return std::nullopt;
      open = i;
    } else {
      known *= shape[i];
    }
  }
  const std::int64_t total = Product(sizes);
  if (open && known != 0) shape[*open] = total / known;
  if (Product(shape) != total) return std::nullopt;
  return shape;
}

/// k before a transposition that is written as Reshape([-1, S, E]) →
/// Transpose → Reshape([…, E, S]): the tensor itself, unless the reshapes do
/// something else.
at::Tensor UnfoldedKey(NodeContext& ctx, const at::Tensor& key) {
  const std::vector<std::int64_t> folded = ctx.Ints(kFusedFoldedShape);
  const std::vector<std::int64_t> unfolded = ctx.Ints(kFusedUnfoldedShape);
  const auto three = Resolved(folded, key.sizes());
  std::vector<std::int64_t> expected = key.sizes().vec();
  if (key.dim() >= 2 && three && three->size() == 3) {
    const size_t last = expected.size() - 1;
    const bool keeps_matrices =
        (*three)[1] == expected[last - 1] && (*three)[2] == expected[last];
    std::swap(expected[last], expected[last - 1]);
    const std::vector<std::int64_t> transposed = {(*three)[0], (*three)[2],
                                                  (*three)[1]};
    if (keeps_matrices && Resolved(unfolded, transposed) == expected) {
      return key;
    }
  }
  return key.reshape(folded).transpose(1, 2).reshape(unfolded).transpose(-2,
                                                                         -1);
}

at::Tensor KeyOf(NodeContext& ctx) {
  const at::Tensor key = ctx.Tensor(kFusedKey);
  if (ctx.Has(kFusedFoldedShape)) return UnfoldedKey(ctx, key);
  if (ctx.IntAttribute("key_is_transposed", 0) != 0) {
    return key.transpose(-2, -1);
  }
  const std::vector<std::int64_t> perm = ctx.IntsAttribute("key_perm", {});
  return perm.empty() ? key : key.permute(perm);
}

/// An attention whose scale is one number.
struct FusedAttention {
  at::Tensor query, key, value, mask;
  double scale = 1;
  bool is_causal = false;
  bool shares_keys = false;  ///< Fewer heads in key and value than in query.
};

/// Multiplies the scale by a factor, or the query if the factor is not a single
/// number.
void ApplyFactor(NodeContext& ctx, size_t input, bool divides,
                 FusedAttention& attention) {
  if (ctx.IsHost(input) && ctx.Host(input).numel() == 1) {
    const double factor = ctx.Double(input);
    attention.scale *= divides ? 1 / factor : factor;
    return;
  }
  const at::Tensor factor = ctx.Tensor(input);
  attention.query =
      divides ? attention.query / factor : attention.query * factor;
}

/// Hides keys after the query: by the flag if the triangle in the file is as
/// large as the scores, else by a mask.
void MakeCausal(NodeContext& ctx, FusedAttention& attention) {
  const std::vector<std::int64_t> sizes =
      ctx.Has(kFusedTriangleShape) ? ctx.Ints(kFusedTriangleShape)
                                   : ctx.IntsAttribute("triangle_sizes", {});
  const at::Tensor& q = attention.query;
  const at::Tensor& k = attention.key;
  attention.is_causal =
      q.dim() >= 2 && k.dim() >= 2 &&
      sizes == std::vector<std::int64_t>{q.size(-2), k.size(-2)};
  if (attention.is_causal) return;
  attention.mask = at::ones(sizes, q.options().dtype(at::kBool)).tril();
}

/// `x` with every head `times` times in a row.
at::Tensor Repeated(const at::Tensor& x, std::int64_t times) {
  return times == 1 ? x : at::repeat_interleave(x, times, 1);
}

/// Shares the heads of key and value among those of the query, or repeats them
/// if the file does something else.
void ShareHeads(NodeContext& ctx, FusedAttention& attention) {
  constexpr std::size_t kRank = 4;
  const std::vector<std::int64_t> expanded = ctx.Ints(kFusedGroupedShape);
  at::Tensor& k = attention.key;
  at::Tensor& v = attention.value;
  ctx.Check(expanded.size() == kRank + 1 && k.dim() == kRank &&
                v.dim() == kRank && attention.query.dim() == kRank,
            "keys of rank {} are repeated to rank {}", k.dim(),
            expanded.size());
  const std::int64_t times = expanded[2];
  attention.shares_keys = times > 1 && v.size(1) == k.size(1) &&
                          attention.query.size(1) == k.size(1) * times;
  if (attention.shares_keys) return;
  k = Repeated(k, times);
  v = Repeated(v, times);
}

FusedAttention AttentionOf(NodeContext& ctx) {
  FusedAttention attention{.query = ctx.Tensor(kFusedQuery),
                           .key = KeyOf(ctx),
                           .value = ctx.Tensor(kFusedValue),
                           .mask = ctx.OptionalTensor(kFusedMask)};
  if (ctx.IntAttribute("is_causal", 0) != 0) MakeCausal(ctx, attention);
  if (ctx.Has(kFusedGroupedShape)) ShareHeads(ctx, attention);
  const auto divides = ctx.IntsAttribute("factor_divides", {});
  for (size_t i = kFusedFirstFactor; i < ctx.num_inputs(); ++i) {
    const size_t factor = i - kFusedFirstFactor;
    ApplyFactor(ctx, i, factor < divides.size() && divides[factor] != 0,
                attention);
  }
  return attention;
}

/// True when at::scaled_dot_product_attention accepts the tensors: equal
/// leading dimensions except for shared heads, and a mask that makes the scores
/// no larger.
bool FitsOneKernel(const FusedAttention& attention) {
  const at::Tensor& q = attention.query;
  const at::Tensor& k = attention.key;
  const at::Tensor& v = attention.value;
  const std::int64_t rank = q.dim();
  if (rank < 2 || k.dim() != rank || v.dim() != rank) return false;
  for (std::int64_t i = 0; i < rank - 2; ++i) {
    if (i == 1 && attention.shares_keys) continue;
    if (q.size(i) != k.size(i) || q.size(i) != v.size(i)) return false;
  }
  if (!attention.mask.defined()) return true;
  const at::Tensor& mask = attention.mask;
  std::vector<std::int64_t> scores = q.sizes().vec();
  scores.back() = k.size(-2);
  const bool has_type = mask.scalar_type() == at::kBool ||
                        TypesAgree(mask.scalar_type(), q.scalar_type());
  if (!has_type || mask.dim() > rank) return false;
  for (std::int64_t i = 1; i <= mask.dim(); ++i) {
    const std::int64_t size = scores[static_cast<size_t>(rank - i)];
    if (mask.size(-i) != 1 && mask.size(-i) != size) return false;
  }
  return true;
}

at::Tensor AttendStepByStep(FusedAttention attention) {
  if (attention.shares_keys) {
    const std::int64_t times = attention.query.size(1) / attention.key.size(1);
    attention.key = Repeated(attention.key, times);
    attention.value = Repeated(attention.value, times);
  }
  at::Tensor scores =
      at::matmul(attention.query, attention.key.transpose(-2, -1)) *
      attention.scale;
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  at::Tensor mask = attention.mask;
  if (attention.is_causal) {
    mask = at::ones({scores.size(-2), scores.size(-1)},
                    scores.options().dtype(at::kBool))
               .tril();
  }
  if (mask.defined()) {
    scores = mask.scalar_type() == at::kBool ? at::where(mask, scores, kHidden)
                                             : scores + mask;
  }
  return at::matmul(at::softmax(scores, -1), attention.value);
}

/// Exporters drop the copy that a network makes of a turned mask.
at::Tensor WithKeysSideBySide(const at::Tensor& mask) {
  const bool is_turned =
      mask.dim() > 0 && mask.size(-1) > 1 && mask.stride(-1) > 1;
  return is_turned ? mask.contiguous() : mask;
}

void LowerFusedAttention(NodeContext& ctx) {
  const FusedAttention attention = AttentionOf(ctx);
  if (!FitsOneKernel(attention)) {
    ctx.Set(0, AttendStepByStep(attention));
    return;
  }
  const std::optional<at::Tensor> mask =
      attention.mask.defined()
          ? std::optional(WithKeysSideBySide(attention.mask))
          : std::nullopt;
  ctx.Set(0, at::scaled_dot_product_attention(
                 attention.query, attention.key, attention.value, mask,
                 /*dropout_p=*/0.0, attention.is_causal, attention.scale,
                 attention.shares_keys));
}

// ---- Layer and RMS norm ----------------------------------------------------

/// Axes that a norm reduces, and the shape they span when they are the last.
struct NormalizedAxes {
  std::vector<std::int64_t> axes;  ///< Counted from the front, ascending.
  /// Empty optional when `axes` are not the last ones.
  std::optional<std::vector<std::int64_t>> shape;
};

NormalizedAxes AxesOf(const NodeContext& ctx, const at::Tensor& x) {
  NormalizedAxes result;
  result.axes = NormalizeAxes(ctx, ctx.IntsAttribute("axes", {-1}), x.dim());
  std::sort(result.axes.begin(), result.axes.end());
  const auto count = static_cast<std::int64_t>(result.axes.size());
  if (count > 0 && result.axes.front() == x.dim() - count) {
    result.shape = x.sizes().slice(static_cast<size_t>(x.dim() - count)).vec();
  }
  return result;
}

/// True when the norm itself can apply `parameter`: absent, or of its shape.
bool IsInside(const at::Tensor& parameter, const at::Tensor& x,
              const NormalizedAxes& axes) {
  if (!parameter.defined()) return true;
  return axes.shape && parameter.sizes() == *axes.shape &&
         TypesAgree(parameter.scalar_type(), x.scalar_type());
}

/// `x` divided by the root of its mean square over `axes`.
at::Tensor OverRootMeanSquare(const at::Tensor& x,
                              const std::vector<std::int64_t>& axes,
                              double epsilon) {
  return x * at::rsqrt(at::mean(x * x, axes, /*keepdim=*/true) + epsilon);
}

at::Tensor WithAffine(at::Tensor y, const at::Tensor& scale,
                      const at::Tensor& bias) {
  if (scale.defined()) y = y * scale;
  if (bias.defined()) y = y + bias;
  return y;
}

void LowerFusedLayerNorm(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor scale = ctx.OptionalTensor(1);
  const at::Tensor bias = ctx.OptionalTensor(2);
  const double epsilon = ctx.FloatAttribute("epsilon", kFusedDefaultEpsilon);
  const NormalizedAxes axes = AxesOf(ctx, x);
  if (axes.shape && IsInside(scale, x, axes) && IsInside(bias, x, axes)) {
    ctx.Set(0, at::layer_norm(x, *axes.shape, scale, bias, epsilon,
                              kFusedUseCudnn));
    return;
  }
  const at::Tensor centered = x - at::mean(x, axes.axes, /*keepdim=*/true);
  ctx.Set(0, WithAffine(OverRootMeanSquare(centered, axes.axes, epsilon), scale,
                        bias));
}

void LowerFusedRmsNorm(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor scale = ctx.OptionalTensor(1);
  const double epsilon = ctx.FloatAttribute("epsilon", kFusedDefaultEpsilon);
  const NormalizedAxes axes = AxesOf(ctx, x);
  if (axes.shape && IsInside(scale, x, axes)) {
    ctx.Set(0, at::rms_norm(x, *axes.shape, scale, epsilon));
    return;
  }
  ctx.Set(0, WithAffine(OverRootMeanSquare(x, axes.axes, epsilon), scale, {}));
}

// ---- Group norm ------------------------------------------------------------

/// True for a parameter [channels, 1, …] of one dimension less than `x`, after
/// adding `axes` of size 1.
bool IsPerChannel(const at::Tensor& parameter, std::int64_t axes,
                  const at::Tensor& x) {
  return !parameter.defined() ||
         (parameter.dim() + axes == x.dim() - 1 &&
          parameter.numel() == x.size(1) && parameter.size(0) == x.size(1) &&
          TypesAgree(parameter.scalar_type(), x.scalar_type()));
}

at::Tensor Flat(const at::Tensor& parameter) {
  if (!parameter.defined() || parameter.dim() == 1) return parameter;
  return ViewOfWeight(parameter,
                      [](const at::Tensor& p) { return p.reshape(-1); });
}

/// `parameter` with further `axes` of size 1.
at::Tensor WithAxes(const at::Tensor& parameter, std::int64_t axes) {
  if (!parameter.defined() || axes == 0) return parameter;
  std::vector<std::int64_t> shape = parameter.sizes().vec();
  shape.resize(shape.size() + static_cast<std::size_t>(axes), 1);
  return parameter.reshape(shape);
}

/// True for a number that leaves type and shape of `x`, reshaped to `rank`.
bool IsNumberFor(const at::Tensor& x, std::size_t rank,
                 const at::Tensor& number) {
  return number.defined() && number.numel() == 1 &&
         static_cast<std::size_t>(number.dim()) <= rank &&
         TypesAgree(number.scalar_type(), x.scalar_type());
}

void LowerFusedGroupNorm(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  at::Tensor scale = ctx.OptionalTensor(1);
  at::Tensor bias = ctx.OptionalTensor(2);
  const std::vector<std::int64_t> shape = ctx.Ints(3);
  if (ctx.IntAttribute("identity_weights", 0) != 0 &&
      IsNumberFor(x, shape.size(), scale) &&
      IsNumberFor(x, shape.size(), bias)) {
    scale = bias = at::Tensor();
  }
  const std::int64_t groups =
      ctx.RequireAttribute("num_groups", Attribute::Kind::kInt).i;
  const std::int64_t axes = ctx.IntAttribute("weight_axes", 0);
  const double epsilon = ctx.FloatAttribute("epsilon", kFusedDefaultEpsilon);
  ctx.Check(x.dim() >= 2 && groups > 0, "X has rank {} and {} groups", x.dim(),
            groups);
  if (x.size(1) % groups == 0 && shape == x.sizes() &&
      IsPerChannel(scale, axes, x) && IsPerChannel(bias, axes, x)) {
    ctx.Set(0, at::group_norm(x, groups, Flat(scale), Flat(bias), epsilon,
                              kFusedUseCudnn));
    return;
  }
  const at::Tensor y = at::instance_norm(
      x.reshape({x.size(0), groups, -1}), std::nullopt, std::nullopt,
      std::nullopt, std::nullopt, /*use_input_stats=*/true, /*momentum=*/0.1,
      epsilon, kFusedUseCudnn);
  const auto resolved = Resolved(shape, y.sizes());
  ctx.Check(resolved.has_value(), "X does not fit its own reshaped form");
  ctx.Set(0, WithAffine(y.reshape(*resolved), WithAxes(scale, axes),
                        WithAxes(bias, axes)));
}

// ---- Batch norm ------------------------------------------------------------

/// A norm by the batch's statistics, without running ones.
void LowerFusedBatchNorm(NodeContext& ctx) {
  const double epsilon = ctx.FloatAttribute("epsilon", kFusedDefaultEpsilon);
  ctx.Set(0, at::batch_norm(ctx.Tensor(0), ctx.Tensor(1), ctx.Tensor(2),
                            std::nullopt, std::nullopt, /*training=*/true,
                            /*momentum=*/0, epsilon, kFusedUseCudnn));
}

constexpr const char* kDomain = "foretell";

constexpr OnnxOperator kFusedOperators[] = {
    {"Addcmul", {1, kAny}, &LowerAddcmul, kDomain},
    {"Attention", {1, kAny}, &LowerFusedAttention, kDomain},
    {"BatchNormalization", {1, kAny}, &LowerFusedBatchNorm, kDomain},
    {"Gelu", {1, kAny}, &LowerFusedGelu, kDomain},
    {"GroupNormalization", {1, kAny}, &LowerFusedGroupNorm, kDomain},
    {"HardSwish", {1, kAny}, &LowerFunction<&at::hardswish>, kDomain},
    {"LayerNormalization", {1, kAny}, &LowerFusedLayerNorm, kDomain},
    {"Linear", {1, kAny}, &LowerLinear, kDomain},
    {"Mish", {1, kAny}, &LowerFunction<&at::mish>, kDomain},
    {"RmsNormalization", {1, kAny}, &LowerFusedRmsNorm, kDomain},
    {"Roll", {1, kAny}, &LowerRoll, kDomain},
    {"Silu", {1, kAny}, &LowerFunction<&at::silu>, kDomain},
    {"Softplus", {1, kAny}, &LowerFunction<&FusedSoftplus>, kDomain},
    {"Unbind", {1, kAny}, &LowerUnbind, kDomain},
};

}  // namespace

std::span<const OnnxOperator> FusedOperators() { return kFusedOperators; }

}  // namespace foretell::onnx
