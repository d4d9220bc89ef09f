// Attention.
#include <array>
#include <utility>

#include "src/core/failure.h"
#include "src/program/checks/families.h"
#include "src/program/checks/predicates.h"

namespace foretell::checks {
namespace {

/// validate_sdpa_input (transformers/attention.cpp), and the products.
void CheckScaledDotProduct(const Call& call) {
  const at::Tensor& query = call.Tensor("query");
  const at::Tensor& key = call.Tensor("key");
  const at::Tensor& value = call.Tensor("value");
  RequireFloats(query);
  RequireTypeOf(query, "a query", key, "a key");
  RequireTypeOf(query, "a query", value, "a value");
  for (const auto& [tensor, what] :
       {std::pair(query, "a query"), std::pair(key, "a key"),
        std::pair(value, "a value")}) {
    if (tensor.dim() >= 2) continue;
    throw InvalidArgument("has {} of shape {}, expected at least 2 dimensions",
                          what, Text(tensor.sizes()));
  }
  if (key.size(-2) != value.size(-2)) {
    throw InvalidArgument("has {} keys and {} values, which must be as many",
                          key.size(-2), value.size(-2));
  }
  const at::Tensor mask = call.TensorOrUndefined("attn_mask");
  RequireOneOf(mask, "a mask", {at::kBool, at::kFloat, query.scalar_type()});
}

/// native_multi_head_attention (transformers/attention.cpp).
void CheckMultiHead(const Call& call) {
  const at::Tensor& query = call.Tensor("query");
  const std::int64_t features = call.Int("embed_dim");
  RequireRank(query, "a query", 3, 3);
  RequireShape(query, "a query", {query.size(0), query.size(1), features});
  RequireShape(call.Tensor("key"), "a key", query.sizes());
  RequireShape(call.Tensor("value"), "a value", query.sizes());
  RequireDivides(features, "features", call.Int("num_head"));
  RequireShape(call.Tensor("qkv_weight"), "qkv_weight",
               {3 * features, features});
  RequireShape(call.Tensor("qkv_bias"), "qkv_bias", {3 * features});
  RequireShape(call.Tensor("proj_weight"), "proj_weight", {features, features});
  RequireExpands(call.Tensor("proj_bias"), "proj_bias", query.sizes());
  RequireFloats(query);
  for (const std::string_view name :
       {"key", "value", "qkv_weight", "qkv_bias", "proj_weight", "proj_bias"}) {
    RequireTypeOf(call.Tensor(name), name, query, "a query");
  }
}

constexpr std::array kAttentionRows = std::to_array<OperandRow>({
    {"_native_multi_head_attention", &CheckMultiHead},
    {"scaled_dot_product_attention", &CheckScaledDotProduct},
});

}  // namespace

std::span<const OperandRow> AttentionRows() { return kAttentionRows; }

}  // namespace foretell::checks
