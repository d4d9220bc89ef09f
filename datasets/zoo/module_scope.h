#pragma once

#include <torch/nn/module.h>

#include <string>
#include <unordered_map>

namespace foretell::zoo {

/// Marks a module as running until the end of the scope: operators are recorded
/// with its path. LibTorch's modules have no hooks, so each forward function of
/// the zoo begins with one; a module without one counts as part of its caller.
/// Scopes nest; each thread has its own.
class ModuleScope {
 public:
  explicit ModuleScope(const torch::nn::Module& module);
  ~ModuleScope();

  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  friend class ModulePaths;

  const torch::nn::Module* module_;
  const ModuleScope* outer_;
};

/// Paths of a network's modules, "layers.0.self_attn"; "" for itself.
class ModulePaths {
 public:
  explicit ModulePaths(const torch::nn::Module& network);

  /// Path of the innermost module of the network that runs on this thread; ""
  /// if none does.
  std::string Current() const;

 private:
  std::unordered_map<const torch::nn::Module*, std::string> paths_;
};

}  // namespace foretell::zoo
