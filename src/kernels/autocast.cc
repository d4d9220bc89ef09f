#include "src/kernels/autocast.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace foretell::cost {
namespace {

struct NamedRule {
  std::string_view target;
  AutocastRule rule;
};

struct KindRule {
  OpKind kind;
  AutocastRule rule;
};

using enum AutocastRule;

constexpr NamedRule kNamedRules[] = {
    {"_log_softmax", kFloatInside},
    {"_softmax", kFloatInside},
    {"binary_cross_entropy_with_logits", kFloat},
    {"cdist", kFloat},
    {"cosine_embedding_loss", kFloat},
    {"cosine_similarity", kFloat},
    {"cumsum", kFloatInside},
    {"dist", kFloat},
    {"exp", kFloat},
    {"group_norm", kFloat},
    {"hinge_embedding_loss", kFloat},
    {"huber_loss", kFloat},
    {"kl_div", kFloat},
    {"l1_loss", kFloat},
    {"layer_norm", kFloat},
    {"linalg_norm", kFloatInside},
    {"linalg_vector_norm", kFloatInside},
    {"log", kFloat},
    {"log_softmax", kFloatInside},
    {"logsumexp", kFloat},
    {"margin_ranking_loss", kFloat},
    {"mse_loss", kFloat},
    {"multi_margin_loss", kFloat},
    {"multilabel_margin_loss", kFloat},
    {"native_group_norm", kFloat},
    {"native_layer_norm", kFloat},
    {"nll_loss", kFloat},
    {"nll_loss2d", kFloat},
    {"norm", kFloatInside},
    {"pdist", kFloat},
    {"poisson_nll_loss", kFloat},
    {"pow", kFloat},
    {"prod", kFloatInside},
    {"reciprocal", kFloat},
    {"renorm", kFloat},
    {"rsqrt", kFloat},
    {"smooth_l1_loss", kFloat},
    {"soft_margin_loss", kFloat},
    {"softmax", kFloatInside},
    {"softplus", kFloat},
    {"sum", kFloatInside},
    {"triplet_margin_loss", kFloat},
};

constexpr KindRule kKindRules[] = {
    {OpKind::kConvolution, kHalf},
    {OpKind::kTransposedConvolution, kHalf},
    {OpKind::kLinear, kHalf},
    {OpKind::kMatmul, kHalf},
    {OpKind::kEinsum, kHalf},
    {OpKind::kAttention, kHalf},
    {OpKind::kRecurrent, kHalf},
    {OpKind::kEmbedding, kAsFirst},
    {OpKind::kBatchNorm, kAsFirst},
    {OpKind::kInstanceNorm, kAsFirst},
    {OpKind::kOtherActivation, kAsFirst},
    {OpKind::kMaxPool, kAsFirst},
    {OpKind::kAveragePool, kAsFirst},
    {OpKind::kPad, kAsFirst},
    {OpKind::kUpsample, kAsFirst},
    {OpKind::kGather, kAsFirst},
    {OpKind::kScatter, kAsFirst},
};

std::string_view WithoutUnderscore(std::string_view target) {
  while (target.ends_with('_')) target.remove_suffix(1);
  return target;
}

}  // namespace

AutocastRule AutocastRuleOf(const Node& node, const Run& run) {
  if (run.half_group_norm && node.kind == OpKind::kGroupNorm) return kHalf;
  if (run.half_layer_norm && node.kind == OpKind::kLayerNorm) return kHalf;
  const auto* const by_kind =
      std::ranges::find(kKindRules, node.kind, &KindRule::kind);
  const bool has_kind = by_kind != std::end(kKindRules);
  if (has_kind && by_kind->rule == kHalf) return kHalf;
  const auto* const by_name = std::ranges::find(
      kNamedRules, WithoutUnderscore(node.target), &NamedRule::target);
  if (by_name != std::end(kNamedRules)) return by_name->rule;
  return has_kind ? by_kind->rule : kPromote;
}

}  // namespace foretell::cost
