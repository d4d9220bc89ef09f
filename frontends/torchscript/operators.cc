#include "frontends/torchscript/operators.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <optional>
#include <set>

#include "src/program/meta/meta_kernels.h"

namespace foretell::torchscript {
namespace {

void Collect(torch::jit::Block& block, std::set<std::string>& names) {
  for (torch::jit::Node* node : block.nodes()) {
    if (const c10::FunctionSchema* schema = node->maybeSchema()) {
      // Operators unknown to the dispatcher use lists, strings and numbers.
      const std::optional<c10::OperatorHandle> op =
          c10::Dispatcher::singleton().findSchema(schema->operator_name());
      if (op && !HasMetaKernel(*op)) names.insert(schema->name());
    }
    for (torch::jit::Block* inner : node->blocks()) Collect(*inner, names);
  }
}

}  // namespace

std::vector<std::string> OperatorsWithoutMetaKernel(
    const torch::jit::Module& module) {
  const std::shared_ptr<torch::jit::Graph> graph =
      module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  std::set<std::string> names;
  Collect(*graph->block(), names);
  return {names.begin(), names.end()};
}

}  // namespace foretell::torchscript
