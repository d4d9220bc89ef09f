#include "src/program/autocast_rules.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace foretell {
namespace {

std::string ShortName(const c10::OperatorName& name) {
  return c10::toString(name).substr(std::string("aten::").size());
}

/// Operators with a kernel of LibTorch's own for autocast on CUDA.
std::set<std::string> RegisteredForCuda() {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  std::set<std::string> names;
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (op && name.name.starts_with("aten::") &&
        op->hasKernelForDispatchKey(c10::DispatchKey::AutocastCUDA)) {
      names.insert(ShortName(name));
    }
  }
  return names;
}

TEST(AutocastRules, AreThoseThatLibTorchRegistersForCuda) {
  std::set<std::string> ours;
  for (const auto& [name, policy] : AutocastRules()) {
    // The rule of cuDNN's recurrent layers is in a library for CUDA alone.
    if (policy != AutocastPolicy::kLowerAll) ours.insert(name);
  }
  EXPECT_EQ(ours, RegisteredForCuda());
}

TEST(AutocastRules, NameOverloadsThatExist) {
  for (const auto& [name, policy] : AutocastRules()) {
    const std::size_t dot = name.find('.');
    const auto op = c10::Dispatcher::singleton().findSchema(
        {"aten::" + name.substr(0, dot),
         dot == std::string::npos ? "" : name.substr(dot + 1)});
    ASSERT_TRUE(op) << name;
    EXPECT_EQ(AutocastPolicyOf(*op), policy) << name;
  }
}

}  // namespace
}  // namespace foretell
