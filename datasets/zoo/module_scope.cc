#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

thread_local const ModuleScope* innermost = nullptr;

}  // namespace

ModuleScope::ModuleScope(const torch::nn::Module& module)
    : module_(&module), outer_(innermost) {
  innermost = this;
}

ModuleScope::~ModuleScope() { innermost = outer_; }

ModulePaths::ModulePaths(const torch::nn::Module& network) {
  // A module that is used in two places keeps the first path, as in Python.
  for (const auto& item : network.named_modules("", /*include_self=*/false)) {
    paths_.emplace(item.value().get(), item.key());
  }
}

std::string ModulePaths::Current() const {
  for (const ModuleScope* scope = innermost; scope != nullptr;
       scope = scope->outer_) {
    const auto found = paths_.find(scope->module_);
    if (found != paths_.end()) return found->second;
  }
  return "";
}

}  // namespace foretell::zoo
