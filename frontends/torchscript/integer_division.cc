#include "frontends/torchscript/integer_division.h"

#include <fmt/core.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "foretell/error.h"

namespace foretell::torchscript {
namespace {

constexpr const char* kDivisions[] = {"aten::floordiv", "aten::remainder",
                                      "aten::divmod",
                                      "aten::__round_to_zero_floordiv"};

void RequireQuotient(const c10::IValue& dividend, const c10::IValue& divisor) {
  if (!dividend.isInt() || !divisor.isInt()) return;
  const std::int64_t a = dividend.toInt();
  const std::int64_t b = divisor.toInt();
  const bool overflows =
      a == std::numeric_limits<std::int64_t>::min() && b == -1;
  if (b != 0 && !overflows) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("the integer {} is divided by {}", a, b));
}

torch::jit::Operator Guarded(const torch::jit::Operator& original) {
  const c10::FunctionSchema& schema = original.schema();
  torch::jit::Operation operation =
      [run = original.getOperation()](torch::jit::Stack& stack) mutable {
        RequireQuotient(stack[stack.size() - 2], stack.back());
        run(stack);
      };
  return {schema.name(),        schema.overload_name(),
          schema.arguments(),   schema.returns(),
          std::move(operation), original.aliasAnalysisKind()};
}

void Guard(const char* name) {
  // A copy: replacing one changes the list.
  const std::vector<std::shared_ptr<torch::jit::Operator>> overloads =
      torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name));
  for (const std::shared_ptr<torch::jit::Operator>& overload : overloads) {
    if (overload->isC10Op() || overload->schema().arguments().size() != 2) {
      continue;
    }
    torch::jit::Operator guarded = Guarded(*overload);
    torch::jit::deregisterOperator(overload->schema());
    torch::jit::registerOperator(std::move(guarded));
  }
}

}  // namespace

void GuardIntegerDivision() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const char* const name : kDivisions) Guard(name);
  });
}

}  // namespace foretell::torchscript
