#include "frontends/torchscript/run_budget.h"

#include <fmt/core.h>

#include "foretell/error.h"

namespace foretell::torchscript {
namespace {

struct Budget {
  bool active = false;
  std::int64_t steps = kMaxSteps;
  std::int64_t bytes = kMaxContainerBytes;
  int nesting = kMaxNesting;
  std::string refusal;
};

thread_local Budget current_budget;

void Refuse(const std::string& why) {
  if (!current_budget.active) return;
  current_budget.refusal = why;
  throw Error(ErrorCode::kUnsupported, why);
}

}  // namespace

RunBudget::RunBudget() { current_budget = {.active = true}; }
RunBudget::~RunBudget() { current_budget = {}; }
const std::string& RunBudget::refusal() const { return current_budget.refusal; }

bool RunBudget::IsActive() { return current_budget.active; }

void ChargeSteps(std::int64_t steps) {
  current_budget.steps -= steps;
  if (current_budget.steps >= 0) return;
  Refuse(fmt::format(
      "forward runs more than {} nodes: a loop in it does not end", kMaxSteps));
}

void ChargeBytes(std::int64_t bytes) {
  current_budget.bytes -= bytes;
  if (current_budget.bytes >= 0) return;
  current_budget.bytes = 0;
  Refuse(
      fmt::format("forward makes or reads more than {} bytes of lists, strings "
                  "and dictionaries",
                  kMaxContainerBytes));
}

void ChargeNesting(int levels) {
  current_budget.nesting -= levels;
  if (current_budget.nesting >= 0) return;
  current_budget.nesting = 0;
  Refuse(
      fmt::format("forward puts lists, tuples or objects more than {} deep "
                  "into one another",
                  kMaxNesting));
}

}  // namespace foretell::torchscript
