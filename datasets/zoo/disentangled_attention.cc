// Line by line what transformers' DebertaV2 does with share_att_key and both
// kinds of position scores: every copy that it makes is memory to predict.

#include "datasets/zoo/disentangled_attention.h"

#include <cmath>
#include <limits>

#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

/// Scores: content to content, content to position, position to content.
constexpr double kScores = 3;

double LowestOf(at::ScalarType type) {
  if (type == at::kHalf) {
    return static_cast<double>(std::numeric_limits<at::Half>::lowest());
  }
  if (type == at::kBFloat16) {
    return static_cast<double>(std::numeric_limits<at::BFloat16>::lowest());
  }
  return static_cast<double>(std::numeric_limits<float>::lowest());
}

/// Picks from `scores` [n, seq, 2 buckets] those of `positions` [1, 1, seq,
/// seq].
at::Tensor Pick(const at::Tensor& scores, const at::Tensor& positions) {
  const std::int64_t seq = scores.size(1);
  return at::gather(scores, -1,
                    positions.squeeze(0).expand({scores.size(0), seq, seq}));
}

}  // namespace

at::Tensor LogDistances(std::int64_t seq, std::int64_t buckets,
                        std::int64_t max_distance, at::Device device) {
  const std::int64_t middle = buckets / 2;
  const auto mid = static_cast<double>(middle);
  const auto ids_options = at::TensorOptions(device).dtype(at::kLong);
  const at::Tensor query_ids = at::arange(seq, ids_options);
  const at::Tensor key_ids = at::arange(seq, ids_options);
  const at::Tensor distance = query_ids.unsqueeze(1) - key_ids.unsqueeze(0);
  const at::Tensor sign = distance.sign();
  const at::Tensor is_near =
      distance.lt(middle).bitwise_and(distance.gt(-middle));
  const at::Tensor length =
      at::where(is_near, at::full({}, middle - 1, ids_options), distance.abs());
  at::Tensor wide = length / mid;
  wide = wide.log();
  wide = wide / std::log(static_cast<double>(max_distance - 1) / mid);
  wide = wide * (mid - 1);
  wide = wide.ceil();
  wide = wide + mid;
  const at::Tensor bucket = at::where(
      length.le(middle), distance.to(wide.scalar_type()), wide * sign);
  return bucket.to(at::kLong).unsqueeze(0);
}

DisentangledAttention::DisentangledAttention(const DisentangledShape& shape)
    : shape_(shape),
      scale_(
          std::sqrt(static_cast<double>(shape.width / shape.heads) * kScores)),
      dropout_(shape.dropout) {
  query_ = register_module("query_proj", Dense(shape.width, shape.width));
  key_ = register_module("key_proj", Dense(shape.width, shape.width));
  value_ = register_module("value_proj", Dense(shape.width, shape.width));
  register_module("dropout", dropout_);
}

at::Tensor DisentangledAttention::forward(const at::Tensor& x,
                                          const at::Tensor& mask,
                                          const at::Tensor& distances,
                                          const at::Tensor& positions) {
  const ModuleScope scope(*this);
  const std::int64_t seq = x.size(1);
  const at::Tensor query = Split(query_->forward(x));
  const at::Tensor key = Split(key_->forward(x));
  const at::Tensor value = Split(value_->forward(x));
  at::Tensor scores = at::bmm(query, key.transpose(-1, -2) / scale_);
  const at::Tensor dropped = dropout_->forward(positions);
  const at::Tensor added = PositionScores(query, key, distances, dropped);
  scores = scores + added;
  scores = scores.view({-1, shape_.heads, seq, seq});
  const at::Tensor sees = mask.to(at::kBool);
  scores =
      scores.masked_fill(sees.bitwise_not(), LowestOf(scores.scalar_type()));
  at::Tensor weights = scores.softmax(-1);
  weights = dropout_->forward(weights);
  at::Tensor y = at::bmm(weights.view({-1, seq, seq}), value);
  y = y.view({-1, shape_.heads, seq, y.size(-1)})
          .permute({0, 2, 1, 3})
          .contiguous();
  return y.view(x.sizes());
}

at::Tensor DisentangledAttention::PositionScores(const at::Tensor& query,
                                                 const at::Tensor& key,
                                                 const at::Tensor& distances,
                                                 const at::Tensor& positions) {
  const std::int64_t batch = query.size(0) / shape_.heads;
  const std::int64_t last = 2 * shape_.buckets - 1;
  const at::Tensor distance = distances.unsqueeze(1);
  const at::Tensor embedded = positions.unsqueeze(0);
  const at::Tensor position_query =
      Split(query_->forward(embedded)).repeat({batch, 1, 1});
  const at::Tensor position_key =
      Split(key_->forward(embedded)).repeat({batch, 1, 1});

  at::Tensor to_position = at::bmm(query, position_key.transpose(-1, -2));
  const at::Tensor ahead = (distance + shape_.buckets).clamp(0, last);
  to_position = Pick(to_position, ahead);
  at::Tensor scores = to_position / scale_;
  scores = scores + 0;

  const at::Tensor behind = (-distance + shape_.buckets).clamp(0, last);
  at::Tensor to_content = at::bmm(key, position_query.transpose(-1, -2));
  to_content = Pick(to_content, behind).transpose(-1, -2);
  scores += to_content / scale_;
  return scores;
}

at::Tensor DisentangledAttention::Split(const at::Tensor& x) const {
  const at::Tensor y = x.view({x.size(0), x.size(1), shape_.heads, -1})
                           .permute({0, 2, 1, 3})
                           .contiguous();
  return y.view({-1, x.size(1), y.size(-1)});
}

}  // namespace foretell::zoo
