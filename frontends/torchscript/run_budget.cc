#include "frontends/torchscript/run_budget.h"

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

thread_local Budget budget;

void Refuse(const std::string& why) {
  if (!budget.active) return;
  budget.refusal = why;
  throw Error(ErrorCode::kUnsupported, why);
}

}  // namespace

RunBudget::RunBudget() { budget = {.active = true}; }
RunBudget::~RunBudget() { budget = {}; }
const std::string& RunBudget::refusal() const { return budget.refusal; }

bool RunBudget::IsActive() { return budget.active; }

void ChargeSteps(std::int64_t steps) {
  budget.steps -= steps;
  if (budget.steps >= 0) return;
  Refuse("forward runs more than " + std::to_string(kMaxSteps) +
         " nodes: a loop in it does not end");
}

void ChargeBytes(std::int64_t bytes) {
  budget.bytes -= bytes;
  if (budget.bytes >= 0) return;
  budget.bytes = 0;
  Refuse("forward makes or reads more than " +
         std::to_string(kMaxContainerBytes) +
         " bytes of lists, strings and dictionaries");
}

void ChargeNesting(int levels) {
  budget.nesting -= levels;
  if (budget.nesting >= 0) return;
  budget.nesting = 0;
  Refuse("forward puts lists, tuples or objects more than " +
         std::to_string(kMaxNesting) + " deep into one another");
}

}  // namespace foretell::torchscript
