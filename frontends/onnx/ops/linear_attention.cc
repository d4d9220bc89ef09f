// Linear attention keeps, per head, a matrix S [key size, value size] instead
// of all past keys, and reads it with each query:
//
//   gated rules   S ← exp(g) · S          decay of each key dimension
//   delta rules   v ← β · (v − Sᵀ k)      only what S does not know yet
//   all rules     S ← S + k vᵀ,  o = scale · Sᵀ q
//
// It runs token by token, which is exact. The chunked form that GPUs prefer
// needs fewer kernels for long sequences; no eager PyTorch operator has it.

#include <ATen/ATen.h>

#include <cmath>
#include <string>
#include <vector>

#include "frontends/onnx/ops/attention.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/lowerings.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

struct UpdateRule {
  bool decays = false;
  bool corrects = false;  ///< The delta rule.
};

UpdateRule UpdateRuleOf(const NodeContext& ctx) {
  const std::string name = ctx.StringAttribute("update_rule", "gated_delta");
  if (name == "linear") return {};
  if (name == "gated") return {.decays = true};
  if (name == "delta") return {.corrects = true};
  if (name == "gated_delta") return {.decays = true, .corrects = true};
  FailAttribute(ctx, "update_rule", name);
}

/// All float32: query [batch, query heads, tokens, key size], key, value of as
/// many heads as the state has, factors [batch, heads or 1, tokens, size or 1].
struct Recurrence {
  at::Tensor query, key, value;
  at::Tensor decay;  ///< exp(g); undefined without.
  at::Tensor rate;   ///< β; undefined without.
  at::Tensor state;  ///< [batch, heads, key size, value size].
};

Recurrence RecurrenceOf(NodeContext& ctx, std::int64_t q_heads,
                        std::int64_t kv_heads) {
  const UpdateRule rule = UpdateRuleOf(ctx);
  ctx.Check(ctx.Has(4) == rule.decays && ctx.Has(5) == rule.corrects,
            "inputs decay and beta do not fit the update_rule");
  const auto heads_of = [&](size_t input, std::int64_t heads) {
    return SplitHeads(ctx, ctx.Tensor(input), heads).to(at::kFloat);
  };
  Recurrence r;
  r.query = heads_of(0, q_heads);
  r.key = heads_of(1, kv_heads);
  r.value = heads_of(2, kv_heads);
  if (rule.decays) r.decay = at::exp(heads_of(4, kv_heads));
  if (rule.corrects) {
    r.rate = heads_of(5, ctx.Tensor(5).size(2) == 1 ? 1 : kv_heads);
  }
  r.state =
      ctx.Has(3)
          ? ctx.Tensor(3).to(at::kFloat)
          : at::zeros({r.key.size(0), kv_heads, r.key.size(3), r.value.size(3)},
                      r.key.options());
  return r;
}

/// Performs token `t` on the state and returns [batch, query heads, value
/// size].
at::Tensor Step(Recurrence& r, std::int64_t t) {
  const at::Tensor key = r.key.select(2, t).unsqueeze(3);
  at::Tensor value = r.value.select(2, t).unsqueeze(2);
  if (r.decay.defined()) {
    r.state = r.state * r.decay.select(2, t).unsqueeze(3);
  }
  if (r.rate.defined()) {
    const at::Tensor known = at::matmul(key.transpose(2, 3), r.state);
    value = (value - known) * r.rate.select(2, t).unsqueeze(3);
  }
  r.state = r.state + key * value;
  const std::int64_t group = r.query.size(1) / r.state.size(1);
  const at::Tensor state =
      group == 1 ? r.state : r.state.repeat_interleave(group, 1);
  return at::matmul(r.query.select(2, t).unsqueeze(2), state).squeeze(2);
}

}  // namespace

void LowerLinearAttention(NodeContext& ctx) {
  const auto heads = [&](const char* name) {
    return ctx.RequireAttribute(name, Attribute::Kind::kInt).i;
  };
  const std::int64_t q_heads = heads("q_num_heads");
  const std::int64_t kv_heads = heads("kv_num_heads");
  ctx.Check(kv_heads > 0 && q_heads > 0 && q_heads % kv_heads == 0,
            "q_num_heads {} is not a multiple of kv_num_heads {}", q_heads,
            kv_heads);
  Recurrence r = RecurrenceOf(ctx, q_heads, kv_heads);
  double scale = ctx.FloatAttribute("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(r.key.size(3)));
  std::vector<at::Tensor> outputs;
  for (std::int64_t t = 0; t < r.query.size(2); ++t) {
    outputs.push_back(Step(r, t));
  }
  const at::ScalarType type = ctx.Tensor(0).scalar_type();
  const at::Tensor output =
      outputs.empty() ? r.query * 0 : at::stack(outputs, 2) * scale;
  ctx.Set(0, CastTo(MergeHeads(output), type));
  ctx.Set(1, CastTo(r.state, ctx.Has(3) ? ctx.Tensor(3).scalar_type() : type));
}

}  // namespace foretell::onnx
