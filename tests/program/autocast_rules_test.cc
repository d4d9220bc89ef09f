#include "src/program/autocast_rules.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "src/kernels/autocast.h"

namespace foretell {
namespace {

using cost::AutocastRule;

std::string ShortName(const c10::OperatorName& name) {
  return c10::toString(name).substr(std::string("aten::").size());
}

/// Operators with a kernel of LibTorch's own for autocast on CUDA.
std::set<std::string> RegisteredForCuda() {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  std::set<std::string> names;
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (op && name.name.starts_with("aten::") &&
        op->hasKernelForDispatchKey(c10::DispatchKey::AutocastCUDA)) {
      names.insert(ShortName(name));
    }
  }
  return names;
}

TEST(AutocastRules, AreThoseThatLibTorchRegistersForCuda) {
  std::set<std::string> ours;
  for (const auto& [name, policy] : AutocastRules()) {
    // The rule of cuDNN's recurrent layers is in a library for CUDA alone.
    if (policy != AutocastPolicy::kLowerAll) ours.insert(name);
  }
  EXPECT_EQ(ours, RegisteredForCuda());
}

TEST(AutocastRules, NameOverloadsThatExist) {
  for (const auto& [name, policy] : AutocastRules()) {
    const std::size_t dot = name.find('.');
    const auto op = c10::Dispatcher::singleton().findSchema(
        {"aten::" + name.substr(0, dot),
         dot == std::string::npos ? "" : name.substr(dot + 1)});
    ASSERT_TRUE(op) << name;
    EXPECT_EQ(AutocastPolicyOf(*op), policy) << name;
  }
}

/// What a graph without overloads and types can say of `policy`.
AutocastRule RuleFor(AutocastPolicy policy) {
  switch (policy) {
    case AutocastPolicy::kLower:
    case AutocastPolicy::kLowerAll:
      return AutocastRule::kHalf;
    case AutocastPolicy::kFloat:
      return AutocastRule::kFloat;
    case AutocastPolicy::kFloatResult:
    case AutocastPolicy::kFloatOverload:
      return AutocastRule::kFloatInside;
    case AutocastPolicy::kLeave:
    case AutocastPolicy::kPromote:
    case AutocastPolicy::kRefused:
      break;
  }
  return AutocastRule::kPromote;
}

/// Operators of the lists whose rule for graphs without casts is another one:
/// it knows kinds and a few names. The learned latency was trained with those
/// rules.
std::string Different() {
  std::set<std::string> names;
  for (const auto& [name, policy] : AutocastRules()) {
    const std::string target = name.substr(0, name.find('.'));
    const Node node = {.target = target, .kind = OpKindOf(target)};
    if (cost::AutocastRuleOf(node) != RuleFor(policy)) names.insert(target);
  }
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

constexpr char kRulesThatDiffer[] =
    "_thnn_fused_gru_cell _thnn_fused_lstm_cell _upsample_bicubic2d_aa "
    "_upsample_bilinear2d_aa _upsample_nearest_exact1d "
    "_upsample_nearest_exact2d _upsample_nearest_exact3d acos asin bilinear "
    "cosh cumprod dot erfinv expm1 frobenius_norm grid_sampler index_put "
    "linalg_matrix_norm log10 log1p log2 nuclear_norm prelu rms_norm "
    "scatter_add sinh tan tensordot upsample_bicubic2d upsample_bilinear2d "
    "upsample_linear1d upsample_nearest1d upsample_nearest2d "
    "upsample_nearest3d upsample_trilinear3d vdot";

TEST(AutocastRules, DifferFromThoseOfPlainGraphsWhereItIsSaid) {
  EXPECT_EQ(Different(), kRulesThatDiffer);
}

}  // namespace
}  // namespace foretell
