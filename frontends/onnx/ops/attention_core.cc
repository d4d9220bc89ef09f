#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "frontends/onnx/ops/attention.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// True where a query may attend a key: [queries, keys], or
/// [batch, 1, queries, keys] when the batch elements differ. Undefined when
/// nothing is hidden.
at::Tensor VisibleKeys(const Visibility& visibility, const at::Tensor& query,
                       std::int64_t num_keys) {
  if (visibility.HidesNothing()) return {};
  const std::int64_t num_queries = query.size(2);
  const auto options = query.options().dtype(at::kLong);
  const at::Tensor key = at::arange(num_keys, options);
  at::Tensor position = at::arange(num_queries, options).unsqueeze(1);
  at::Tensor visible;
  const auto restrict_to = [&](const at::Tensor& allowed) {
    visible = visible.defined() ? at::logical_and(visible, allowed) : allowed;
  };
  if (visibility.valid_keys.defined()) {
    const at::Tensor count = visibility.valid_keys.reshape({-1, 1, 1, 1});
    position = position + (count - num_queries);
    restrict_to(at::lt(key, count));
  } else {
    position = position + visibility.offset;
  }
  if (visibility.is_causal) restrict_to(at::le(key, position));
  if (visibility.left_window >= 0) {
    restrict_to(at::ge(key, position - visibility.left_window));
  }
  if (visibility.right_window >= 0) {
    restrict_to(at::le(key, position + visibility.right_window));
  }
  return visible;
}

/// The mask over all keys, at least [queries, keys]; keys beyond its end are
/// hidden.
at::Tensor FullMask(const at::Tensor& mask, std::int64_t num_keys) {
  if (!mask.defined()) return {};
  const std::int64_t missing = num_keys - mask.size(-1);
  const at::Tensor matrix = mask.dim() == 1 ? mask.unsqueeze(0) : mask;
  if (missing <= 0) return matrix;
  if (matrix.scalar_type() == at::kBool) {
    return at::constant_pad_nd(matrix, {0, missing}, 0);
  }
  return at::constant_pad_nd(matrix, {0, missing}, kMinusInfinity);
}

/// Mask and visibility together, as at::scaled_dot_product_attention takes
/// them: Boolean, or of the type of the query. Undefined when nothing is
/// hidden.
at::Tensor CombinedMask(const AttentionRequest& request) {
  const std::int64_t num_keys = request.key.size(2);
  const at::Tensor mask = FullMask(request.mask, num_keys);
  const at::Tensor visible =
      VisibleKeys(request.visibility, request.query, num_keys);
  if (!mask.defined()) return visible;
  if (mask.scalar_type() == at::kBool) {
    return visible.defined() ? at::logical_and(mask, visible) : mask;
  }
  const at::Tensor bias = CastTo(mask, request.query.scalar_type());
  if (!visible.defined()) return bias;
  return at::where(visible, bias, kMinusInfinity);
}

at::Tensor SharedAmong(const at::Tensor& x, std::int64_t heads) {
  const std::int64_t own = x.size(1);
  return own == heads ? x : x.repeat_interleave(heads / own, 1);
}

/// A Boolean mask as numbers to add.
at::Tensor AsBias(const at::Tensor& mask, const at::Tensor& scores) {
  if (mask.scalar_type() != at::kBool) return mask;
  return at::where(mask, at::zeros({}, scores.options()), kMinusInfinity);
}

/// Softmax whose rows are zero where `bias` hides every key.
at::Tensor SoftmaxOfVisible(const at::Tensor& scores, const at::Tensor& bias) {
  const at::Tensor probabilities = at::softmax(scores, -1);
  if (!bias.defined()) return probabilities;
  const at::Tensor is_hidden =
      at::eq(bias.amax(-1, /*keepdim=*/true), kMinusInfinity);
  return probabilities.masked_fill(is_hidden, 0);
}

}  // namespace

at::Tensor SplitHeads(const NodeContext& ctx, const at::Tensor& x,
                      std::int64_t heads) {
  ctx.Check(x.dim() == 3 && heads > 0 && x.size(2) % heads == 0,
            "{} heads do not divide a tensor of rank {}", heads, x.dim());
  return x.unflatten(2, {heads, x.size(2) / heads}).transpose(1, 2);
}

at::Tensor MergeHeads(const at::Tensor& x) {
  return x.transpose(1, 2).flatten(2);
}

at::Tensor Attend(const AttentionRequest& request) {
  const bool is_grouped = request.query.size(1) != request.key.size(1);
  const bool is_plain_causal =
      request.visibility.IsPlainCausal() && !request.mask.defined();
  AttentionRequest wide = request;
  wide.query = FloatOnCpu(request.query);
  const at::Tensor mask = is_plain_causal ? at::Tensor() : CombinedMask(wide);
  const at::Tensor y = at::scaled_dot_product_attention(
      wide.query, FloatOnCpu(request.key), FloatOnCpu(request.value),
      mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt,
      /*dropout_p=*/0.0, is_plain_causal, request.scale, is_grouped);
  return CastTo(y, request.query.scalar_type());
}

ExplicitResult AttendExplicitly(const AttentionRequest& request,
                                const ExplicitOptions& options) {
  const at::Tensor& query = request.query;
  const at::ScalarType type = query.scalar_type();
  const double scale =
      request.scale.value_or(1 / std::sqrt(static_cast<double>(query.size(3))));
  // Each factor gets a root of the scale, so that half products do not
  // overflow.
  const double root = std::sqrt(scale);
  const at::Tensor key = SharedAmong(request.key, query.size(1));
  const at::Tensor value = SharedAmong(request.value, query.size(1));
  at::Tensor scores = at::matmul(query * root, key.transpose(2, 3) * root);
  ExplicitResult result{.output = {}, .scores = scores};
  if (options.softcap > 0) {
    scores = at::tanh(scores / options.softcap) * options.softcap;
  }
  if (options.scores_mode == 1) result.scores = scores;
  at::Tensor bias = CombinedMask(request);
  if (bias.defined()) {
    bias = AsBias(bias, scores);
    scores = scores + bias;
  }
  if (options.scores_mode == 2) result.scores = scores;
  const at::Tensor probabilities =
      CastTo(SoftmaxOfVisible(
                 CastTo(scores, options.softmax_type.value_or(type)), bias),
             type);
  if (options.scores_mode == 3) result.scores = probabilities;
  result.output = at::matmul(probabilities, value);
  return result;
}

at::Tensor Rotate(const at::Tensor& x, const Rotation& rotation) {
  const std::int64_t half = rotation.cos.size(-1);
  const std::int64_t size = x.size(-1);
  // [batch, 1, sequence, half] meets every head.
  const auto for_heads = [](const at::Tensor& t) {
    return t.dim() == 3 ? t.unsqueeze(1) : t;
  };
  const at::Tensor cos = for_heads(rotation.cos);
  const at::Tensor sin = for_heads(rotation.sin);
  const at::Tensor turned = at::slice(x, -1, 0, 2 * half);
  const auto part = [&](std::int64_t i) {
    return rotation.is_interleaved
               ? at::slice(turned, -1, i, std::nullopt, 2)
               : at::slice(turned, -1, i * half, (i + 1) * half);
  };
  const at::Tensor real = part(0) * cos - part(1) * sin;
  const at::Tensor imaginary = part(0) * sin + part(1) * cos;
  const at::Tensor rotated = rotation.is_interleaved
                                 ? at::stack({real, imaginary}, -1).flatten(-2)
                                 : at::cat({real, imaginary}, -1);
  if (size == 2 * half) return rotated;
  return at::cat({rotated, at::slice(x, -1, 2 * half)}, -1);
}

}  // namespace foretell::onnx
