// A saved object of torch.autocast does nothing: LibTorch's executor inserts
// casts into the code inside a `with`
// (torch/csrc/jit/passes/autocast.cpp, 2.13). That pass needs all calls inlined
// and constant flags, does not know attention, and its casts expect CUDA
// tensors. A region of foretell casts as eager autocast does, so that a
// scripted file, a trace and an archive of torch.export agree.

#include <ATen/core/stack.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <string>

#include "frontends/torchscript/passes.h"
#include "frontends/torchscript/rewriting.h"
#include "frontends/torchscript/run_scope.h"

namespace foretell::torchscript {
namespace {

using torch::jit::Node;
using torch::jit::Stack;

constexpr char kBeginRegion[] = "foretell::begin_autocast";
constexpr char kEndRegion[] = "foretell::end_autocast";

void Begin(Stack& stack) {
  const c10::IValue region = torch::jit::pop(stack);
  RunScope* const scope = RunScope::Current();
  if (scope != nullptr) scope->BeginAutocast(region.toObjectRef());
}

void End(Stack& /*stack*/) {
  RunScope* const scope = RunScope::Current();
  if (scope != nullptr) scope->EndAutocast();
}

void RegisterAutocastOperators() {
  static const torch::jit::RegisterOperators registered(
      {torch::jit::Operator(std::string(kBeginRegion) + "(Any region) -> ()",
                            Begin, c10::AliasAnalysisKind::CONSERVATIVE),
       torch::jit::Operator(std::string(kEndRegion) + "() -> ()", End,
                            c10::AliasAnalysisKind::CONSERVATIVE)});
}

/// torch.autocast, torch.cuda.amp.autocast, torch.cpu.amp.autocast.
bool IsAutocast(const torch::jit::Value& object) {
  const std::string name = ClassNameOf(*object.type());
  return name.starts_with("__torch__.torch.") &&
         name.ends_with("amp.autocast_mode.autocast");
}

}  // namespace

void EnterAutocast(const torch::jit::Module& module) {
  RegisterAutocastOperators();
  ForEachNode(module, [](Node& node) {
    const bool enters = node.kind() == c10::prim::Enter;
    const bool exits = node.kind() == c10::prim::Exit;
    if ((!enters && !exits) || !IsAutocast(*node.input(0))) return;
    if (enters) {
      InsertBefore(kBeginRegion, node, {node.input(0)});
    } else {
      InsertBefore(kEndRegion, node, {});
    }
  });
}

}  // namespace foretell::torchscript
