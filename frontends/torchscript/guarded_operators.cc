#include "frontends/torchscript/guarded_operators.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "src/core/failure.h"
#include "src/program/call_checks.h"
#include "src/program/recorder.h"

namespace foretell::torchscript {
namespace {

using CallCheck = void (*)(const c10::FunctionSchema& schema,
                           const torch::jit::Stack& stack);

void RequireQuotient(const c10::FunctionSchema& schema,
                     const torch::jit::Stack& stack) {
  if (schema.arguments().size() != 2) return;
  const c10::IValue& dividend = stack[stack.size() - 2];
  const c10::IValue& divisor = stack.back();
  if (!dividend.isInt() || !divisor.isInt()) return;
  const std::int64_t a = dividend.toInt();
  const std::int64_t b = divisor.toInt();
  const bool overflows =
      a == std::numeric_limits<std::int64_t>::min() && b == -1;
  if (b != 0 && !overflows) return;
  throw InvalidArgument("the integer {} is divided by {}", a, b);
}

struct GuardedRow {
  const char* name;
  CallCheck check;
  /// Makes a tensor on the host, fills it there, and then moves it.
  bool fills_on_host = false;
};

constexpr GuardedRow kGuarded[] = {
    {"aten::floordiv", RequireQuotient},
    {"aten::remainder", RequireQuotient},
    {"aten::divmod", RequireQuotient},
    {"aten::__round_to_zero_floordiv", RequireQuotient},
    {"aten::as_tensor", RequireKnownForms, true},
    {"aten::tensor", RequireKnownForms, true},
    {"aten::to", RequireKnownForms}};

torch::jit::Operator Guarded(const torch::jit::Operator& original,
                             const GuardedRow& row) {
  const c10::FunctionSchema& schema = original.schema();
  torch::jit::Operation operation =
      [schema, row,
       run = original.getOperation()](torch::jit::Stack& stack) mutable {
        row.check(schema, stack);
        std::optional<NamedDeviceScope> named;
        if (row.fills_on_host) named.emplace();
        run(stack);
      };
  return {schema.name(),        schema.overload_name(),
          schema.arguments(),   schema.returns(),
          std::move(operation), original.aliasAnalysisKind()};
}

void Guard(const GuardedRow& row) {
  // A copy: replacing one changes the list.
  const std::vector<std::shared_ptr<torch::jit::Operator>> overloads =
      torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(row.name));
  for (const std::shared_ptr<torch::jit::Operator>& overload : overloads) {
    if (overload->isC10Op()) continue;
    torch::jit::Operator guarded = Guarded(*overload, row);
    torch::jit::deregisterOperator(overload->schema());
    torch::jit::registerOperator(std::move(guarded));
  }
}

}  // namespace

void GuardOperators() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const GuardedRow& row : kGuarded) Guard(row);
  });
}

}  // namespace foretell::torchscript
