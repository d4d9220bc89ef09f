#include "frontends/torchscript/guarded_operators.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "frontends/torchscript/charges.h"
#include "frontends/torchscript/run_budget.h"

namespace foretell::torchscript {
namespace {

/// All overloads of an operator that take a string, or multiply a list.
struct GuardedOperator {
  const char* name;
  ChargeRule charge;
};

constexpr GuardedOperator kGuarded[] = {
    {"aten::add", &ChargeContainers},
    {"aten::center", &ChargeCopies},
    {"aten::count", &ChargeStrings},
    {"aten::expandtabs", &ChargeCopies},
    {"aten::find", &ChargeStrings},
    {"aten::format", &ChargeContent},
    {"aten::index", &ChargeStrings},
    {"aten::join", &ChargeStrings},
    {"aten::list", &ChargeStrings},
    {"aten::ljust", &ChargeCopies},
    {"aten::lstrip", &ChargeStrings},
    {"aten::mul", &ChargeCopies},
    {"aten::mul_", &ChargeCopies},
    {"aten::partition", &ChargeStrings},
    {"aten::replace", &ChargeReplacement},
    {"aten::rfind", &ChargeStrings},
    {"aten::rindex", &ChargeStrings},
    {"aten::rjust", &ChargeCopies},
    {"aten::rpartition", &ChargeStrings},
    {"aten::rsplit", &ChargeStrings},
    {"aten::rstrip", &ChargeStrings},
    {"aten::split", &ChargeStrings},
    {"aten::splitlines", &ChargeStrings},
    {"aten::str", &ChargeContent},
    {"aten::strip", &ChargeStrings},
    {"aten::zfill", &ChargeCopies},
    {"aten::percentFormat", &ChargeContent},
};

bool TakesStringOrList(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    const c10::TypeKind kind = argument.type()->kind();
    if (kind == c10::TypeKind::StringType || kind == c10::TypeKind::ListType) {
      return true;
    }
  }
  return schema.name() == "aten::str";
}

torch::jit::Operation Guarded(const torch::jit::Operator& original,
                              ChargeRule charge) {
  const std::size_t fixed = original.schema().arguments().size();
  const bool counts = original.schema().is_vararg();
  return [charge, fixed, counts,
          run = original.getOperation()](torch::jit::Stack& stack) mutable {
    if (RunBudget::IsActive()) {
      // Above a variable number of arguments lies how many they are.
      const auto count =
          counts ? static_cast<std::size_t>(stack.back().toInt()) : fixed;
      charge(
          Values(stack).slice(stack.size() - count - (counts ? 1 : 0), count));
    }
    run(stack);
  };
}

torch::jit::Operator Replacement(const torch::jit::Operator& original,
                                 ChargeRule charge) {
  const c10::FunctionSchema& schema = original.schema();
  torch::jit::Operation operation = Guarded(original, charge);
  const c10::AliasAnalysisKind aliases = original.aliasAnalysisKind();
  if (schema.is_vararg()) {
    return {c10::toString(schema), std::move(operation), aliases};
  }
  return {schema.name(),    schema.overload_name(), schema.arguments(),
          schema.returns(), std::move(operation),   aliases};
}

void Guard(const GuardedOperator& guarded) {
  // A copy: replacing one changes the list.
  const std::vector<std::shared_ptr<torch::jit::Operator>> overloads =
      torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(guarded.name));
  for (const std::shared_ptr<torch::jit::Operator>& overload : overloads) {
    if (overload->isC10Op() || !TakesStringOrList(overload->schema())) {
      continue;
    }
    torch::jit::Operator replacement = Replacement(*overload, guarded.charge);
    torch::jit::deregisterOperator(overload->schema());
    torch::jit::registerOperator(std::move(replacement));
  }
}

}  // namespace

void GuardOperators() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const GuardedOperator& guarded : kGuarded) Guard(guarded);
  });
}

}  // namespace foretell::torchscript
