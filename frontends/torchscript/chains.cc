#include "frontends/torchscript/passes.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <string>

namespace foretell::torchscript {
namespace {

constexpr char kPause[] = "foretell::pause";
constexpr int kNodesPerChain = 256;

void RegisterPause() {
  static const torch::jit::RegisterOperators registered({torch::jit::Operator(
      std::string(kPause) + "() -> ()", [](torch::jit::Stack&) {},
      // Prevents dead code elimination.
      c10::AliasAnalysisKind::CONSERVATIVE)});
}

void BreakChainsOf(torch::jit::Graph& graph, torch::jit::Block& block) {
  int nodes = 0;
  for (torch::jit::Node* node : block.nodes()) {
    for (torch::jit::Block* inner : node->blocks()) {
      BreakChainsOf(graph, *inner);
    }
    if (++nodes % kNodesPerChain != 0) continue;
    graph.create(c10::Symbol::fromQualString(kPause), {}, 0)
        ->insertBefore(node);
  }
}

}  // namespace

void BreakChains(torch::jit::Module& module) {
  RegisterPause();
  for (torch::jit::Function* function :
       module._ivalue()->compilation_unit()->get_functions()) {
    torch::jit::Graph& graph = *torch::jit::toGraphFunction(*function).graph();
    BreakChainsOf(graph, *graph.block());
  }
}

}  // namespace foretell::torchscript
