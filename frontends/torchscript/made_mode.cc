#include "frontends/torchscript/made_mode.h"

#include <ATen/core/stack.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <functional>
#include <string>
#include <utility>

#include "frontends/torchscript/frozen_weights.h"
#include "frontends/torchscript/rewriting.h"
#include "frontends/torchscript/run_scope.h"

namespace foretell::torchscript {
namespace {

using torch::jit::Node;
using torch::jit::Stack;

constexpr char kTraining[] = "training";
constexpr char kFlag[] = "foretell::trains";
constexpr char kProbability[] = "foretell::dropout_p";
constexpr char kCount[] = "foretell::count_batches";

ModeChange CurrentChange() {
  const RunScope* const scope = RunScope::Current();
  return scope == nullptr ? ModeChange::kStay : scope->change();
}

void Trains(Stack& stack) {
  const bool trains = torch::jit::pop(stack).toBool();
  const ModeChange change = CurrentChange();
  torch::jit::push(stack, change == ModeChange::kStay
                              ? trains
                              : change == ModeChange::kToTraining);
}

void DropoutProbability(Stack& stack) {
  const double probability = torch::jit::pop(stack).toDouble();
  torch::jit::push(
      stack, CurrentChange() == ModeChange::kToInference ? 0.0 : probability);
}

/// A tracer turns the 1 that is added into a tensor.
void CountBatches(Stack& stack) {
  const at::Scalar times = torch::jit::pop(stack).toScalar();
  const c10::IValue one = torch::jit::pop(stack);
  at::Tensor batches = torch::jit::pop(stack).toTensor();
  if (CurrentChange() != ModeChange::kToInference) {
    if (one.isTensor()) {
      batches.add_(one.toTensor(), times);
    } else {
      batches.add_(one.toScalar(), times);
    }
  }
  torch::jit::push(stack, std::move(batches));
}

void RegisterModeOperators() {
  static const torch::jit::RegisterOperators registered(
      {torch::jit::Operator(std::string(kFlag) + "(bool made) -> bool", Trains,
                            c10::AliasAnalysisKind::CONSERVATIVE),
       torch::jit::Operator(std::string(kProbability) + "(float made) -> float",
                            DropoutProbability,
                            c10::AliasAnalysisKind::CONSERVATIVE),
       torch::jit::Operator(
           std::string(kCount) +
               "(Tensor(a!) self, Any other, Scalar alpha) -> Tensor(a!)",
           CountBatches, c10::AliasAnalysisKind::CONSERVATIVE)});
}

/// Calls `visit` on the places of a node's constant arguments for which
/// `wanted` is true, given the names of the operator and the argument.
void ForEachConstant(
    const Node& node,
    const std::function<bool(const std::string&, const std::string&)>& wanted,
    const std::function<void(std::size_t, const c10::IValue&)>& visit) {
  const c10::FunctionSchema* const schema = node.maybeSchema();
  if (schema == nullptr) return;
  const auto& arguments = schema->arguments();
  for (std::size_t i = 0; i < arguments.size() && i < node.inputs().size();
       ++i) {
    if (!wanted(schema->name(), arguments[i].name())) continue;
    const auto constant = ConstantOf(*node.input(i));
    if (constant) visit(i, *constant);
  }
}

/// A norm without statistics of its own uses the batch's in both modes.
bool TakesTheBatch(const Node& node) {
  bool takes = false;
  ForEachConstant(
      node,
      [](const std::string&, const std::string& argument) {
        return IsStatistics(argument);
      },
      [&](std::size_t, const c10::IValue& value) { takes |= value.isNone(); });
  return takes;
}

void ForEachFlag(const Node& node,
                 const std::function<void(std::size_t, bool)>& visit) {
  ForEachConstant(node, IsModeFlag,
                  [&](std::size_t place, const c10::IValue& value) {
                    if (!value.isBool() || TakesTheBatch(node)) return;
                    visit(place, value.toBool());
                  });
}

void PutBefore(Node& node, std::size_t place, const char* own,
               const c10::TypePtr& type) {
  torch::jit::Graph& graph = *node.owningGraph();
  Node* const asks =
      graph.create(c10::Symbol::fromQualString(own), {node.input(place)}, 1);
  asks->insertBefore(&node);
  asks->copyMetadata(&node);
  asks->output()->setType(type);
  node.replaceInput(place, asks->output());
}

bool IsAttribute(const Node& node, const char* name) {
  return node.kind() == c10::prim::GetAttr && node.s(c10::attr::name) == name;
}

/// num_batches_tracked.add_(1), whose result is not read.
bool CountsBatches(const Node& node) {
  return node.kind() == c10::aten::add_ && node.inputs().size() == 3 &&
         IsAttribute(*node.input(0)->node(), "num_batches_tracked");
}

void FollowModeIn(Node& node) {
  ForEachFlag(node, [&](std::size_t place, bool) {
    PutBefore(node, place, kFlag, c10::BoolType::get());
  });
  ForEachConstant(node, IsModeProbability,
                  [&](std::size_t place, const c10::IValue& value) {
                    if (!value.isDouble()) return;
                    PutBefore(node, place, kProbability, c10::FloatType::get());
                  });
  if (CountsBatches(node)) ReplaceBy(kCount, node);
}

}  // namespace

Making MakingOf(const torch::jit::Module& module) {
  // Freezing removes the attribute, and puts weights into the code.
  if (!module.type()->findAttributeSlot(kTraining) &&
      !FrozenTensors(module).parameters.empty()) {
    return Making::kFrozen;
  }
  Making making = Making::kTraced;
  ForEachNode(module, [&](const Node& node) {
    if (IsAttribute(node, kTraining)) making = Making::kScripted;
  });
  return making;
}

ModeFlags FlagsOf(const torch::jit::Module& module) {
  ModeFlags flags;
  if (MakingOf(module) != Making::kTraced) return flags;
  ForEachNode(module, [&](const Node& node) {
    ForEachFlag(node, [&](std::size_t, bool trains) { flags.Count(trains); });
  });
  return flags;
}

void FollowMode(const torch::jit::Module& module) {
  if (MakingOf(module) != Making::kTraced) return;
  RegisterModeOperators();
  ForEachNode(module, FollowModeIn);
}

}  // namespace foretell::torchscript
