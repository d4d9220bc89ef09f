// Lists of operators, read from LibTorch's header as it lists them for its own
// registration: no second copy can disagree with the version that is linked.

#include "src/program/autocast_rules.h"

#include <ATen/autocast_mode.h>
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_map>

namespace foretell {
namespace {

using enum AutocastPolicy;

struct Row {
  std::string_view name;  ///< "mm", or operator and overload: "softmax, int".
  AutocastPolicy policy;
};

// NOLINTBEGIN(cppcoreguidelines-macro-usage): arguments of LibTorch's lists.
#define FORETELL_LOWER(...) Row{#__VA_ARGS__, kLower},
#define FORETELL_FLOAT(...) Row{#__VA_ARGS__, kFloat},
#define FORETELL_FLOAT_RESULT(...) Row{#__VA_ARGS__, kFloatResult},
#define FORETELL_FLOAT_OVERLOAD(function, name, ...) Row{name, kFloatOverload},
#define FORETELL_PROMOTE(...) Row{#__VA_ARGS__, kPromote},
// NOLINTEND(cppcoreguidelines-macro-usage)

// clang-format off
constexpr Row kRows[] = {
    AT_FORALL_LOWER_PRECISION_FP(FORETELL_LOWER)
    AT_FORALL_FP32(FORETELL_FLOAT)
    AT_FORALL_FP32_SET_OPT_DTYPE(FORETELL_FLOAT_RESULT)
    AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(FORETELL_FLOAT_OVERLOAD)
    AT_FORALL_PROMOTE(FORETELL_PROMOTE)
    // In addition to the lists (autocast_mode.cpp, cudnn/AutocastRNN.cpp):
    {"cudnn_convolution", kLower},
    {"cudnn_convolution_transpose", kLower},
    {"binary_cross_entropy", kRefused},
    {"lstm, input", kLowerAll},
    {"lstm, data", kLowerAll},
    {"gru, input", kLowerAll},
    {"gru, data", kLowerAll},
    {"rnn_tanh, input", kLowerAll},
    {"rnn_tanh, data", kLowerAll},
    {"rnn_relu, input", kLowerAll},
    {"rnn_relu, data", kLowerAll},
};
// clang-format on

/// "softmax, int" as "softmax.int".
std::string WithDot(std::string_view name) {
  const std::size_t comma = name.find(", ");
  if (comma == std::string_view::npos) return std::string(name);
  return fmt::format("{}.{}", name.substr(0, comma), name.substr(comma + 2));
}

using Policies = std::unordered_map<c10::OperatorName, AutocastPolicy>;

Policies PoliciesByName() {
  Policies policies;
  for (const auto& [name, policy] : AutocastRules()) {
    const std::size_t dot = name.find('.');
    const std::string overload =
        dot == std::string::npos ? "" : name.substr(dot + 1);
    policies.emplace(
        c10::OperatorName("aten::" + name.substr(0, dot), overload), policy);
  }
  return policies;
}

}  // namespace

AutocastPolicy AutocastPolicyOf(const c10::OperatorHandle& op) {
  static const Policies policies = PoliciesByName();
  c10::OperatorName name = op.operator_name();
  // Convolutions with padding by a word end in at::convolution, which casts.
  if (name.overload_name == "padding") name.overload_name.clear();
  const auto found = policies.find(name);
  return found == policies.end() ? kLeave : found->second;
}

std::vector<std::pair<std::string, AutocastPolicy>> AutocastRules() {
  std::vector<std::pair<std::string, AutocastPolicy>> rules;
  std::ranges::transform(kRows, std::back_inserter(rules), [](const Row& row) {
    return std::pair(WithDot(row.name), row.policy);
  });
  return rules;
}

}  // namespace foretell
