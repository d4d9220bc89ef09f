#include "frontends/exported/unknown_operators.h"

#include <set>

#include "frontends/exported/call_operator.h"
#include "frontends/exported/higher_order.h"
#include "frontends/exported/number_operators.h"
#include "frontends/exported/quantized_operators.h"
#include "frontends/exported/vmap_operators.h"
#include "frontends/shared/allowed_operators.h"
#include "src/core/failure.h"
#include "src/program/meta/meta_kernels.h"

namespace foretell::exported {
namespace {

constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";

OperatorVerdict VerdictOn(const Node& node) {
  const auto known = [](bool is_known) {
    return is_known ? OperatorVerdict::kAllowed : OperatorVerdict::kUnknown;
  };
  if (node.target.starts_with(kHigherOrder)) {
    return known(IsKnownHigherOrder(node.target));
  }
  if (IsQuantizedOperator(node.target)) return OperatorVerdict::kAllowed;
  if (IsVmapOperator(node.target)) return OperatorVerdict::kAllowed;
  const std::string name = OperatorName(node.target);
  if (name.empty()) return known(FindNumberOperator(node.target) != nullptr);
  const OperatorVerdict verdict = JudgeOperator(name);
  if (verdict != OperatorVerdict::kAllowed) return verdict;
  return known(FindOperator(node.target).has_value());
}

/// Weights of torchao's classes, which a file has as one tensor that operators
/// take apart.
void RefuseSubclasses(const std::string& path, const Graph& graph) {
  ForEachNode(graph, [&](const Node& node) {
    if (!node.target.starts_with("torch.ops.export.access_subclass")) return;
    throw Unsupported(
        "{}: has weights of a subclass of torch.Tensor: export the model after "
        "torchao.utils.unwrap_tensor_subclass(model)",
        path);
  });
}

}  // namespace

void RefuseUnknownOperators(const std::string& path, const Graph& graph) {
  RefuseSubclasses(path, graph);
  RefusedOperators refused;
  ForEachNode(graph, [&](const Node& node) {
    refused.Add(VerdictOn(node), node.target);
  });
  refused.ThrowIfAny(path);
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
