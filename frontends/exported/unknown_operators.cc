#include "frontends/exported/unknown_operators.h"

#include <set>

#include "foretell/error.h"
#include "frontends/exported/call_operator.h"
#include "frontends/exported/higher_order.h"
#include "frontends/exported/number_operators.h"
#include "frontends/shared/allowed_operators.h"
#include "src/core/text.h"
#include "src/program/meta/meta_kernels.h"

namespace foretell::exported {
namespace {

constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";

bool IsKnown(const Node& node) {
  if (node.target.starts_with(kHigherOrder)) {
    return IsKnownHigherOrder(node.target);
  }
  const std::string name = OperatorName(node.target);
  if (name.empty()) return FindNumberOperator(node.target) != nullptr;
  return IsAllowedOperator(name) && FindOperator(node.target).has_value();
}

}  // namespace

void RefuseUnknownOperators(const std::string& path, const Graph& graph) {
  std::set<std::string> unknown;
  ForEachNode(graph, [&](const Node& node) {
    if (!IsKnown(node)) unknown.insert(node.target);
  });
  if (unknown.empty()) return;
  throw Error(ErrorCode::kUnsupported,
              path +
                  ": refused before running: operators that LibTorch alone "
                  "does not have, or that touch files, Python or other "
                  "processes, or need not end: " +
                  Joined(unknown));
}

std::vector<std::string> OperatorsWithoutMetaKernel(const Graph& graph) {
  std::set<std::string> names;
  ForEachNode(graph, [&](const Node& node) {
    const auto op = FindOperator(node.target);
    if (op && !HasMetaKernel(*op)) names.insert(op->schema().name());
  });
  return {names.begin(), names.end()};
}

}  // namespace foretell::exported
