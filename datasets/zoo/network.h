#pragma once

#include <fmt/core.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "datasets/zoo/module_scope.h"
#include "foretell/program.h"

namespace foretell::zoo {

/// A network with all its inputs, made from a family's configuration.
///
/// Tensor lifetimes are part of what foretell predicts, so forward functions
/// follow one rule: arguments are `const at::Tensor&`, and a module's input
/// lives until its forward returns, as in Python, where the caller's frame
/// holds it. Results go into locals that are rebound (`y = norm(y)`).
class Network : public torch::nn::Module {
 public:
  virtual std::vector<at::Tensor> Run(
      const std::vector<at::Tensor>& inputs) = 0;
  /// The loss of a training step, if the network defines one.
  virtual std::optional<NamedLoss> Loss(
      const std::vector<at::Tensor>& /*inputs*/,
      const std::vector<at::Tensor>& /*outputs*/) const {
    return std::nullopt;
  }
};

/// Cross entropy over the last dimension of `logits` [batch, tokens,
/// vocabulary] with the classes `tokens` i64[batch, tokens]. `upcasts`: in 32
/// bits, as ForCausalLMLoss of transformers; else in the logits' type.
NamedLoss CrossEntropyOfTokens(const at::Tensor& logits,
                               const at::Tensor& tokens, bool upcasts = true);

/// True if a training step's loss multiplies by the head's matrix itself: the
/// network must then return its last states instead of logits.
bool LossHasHead();

/// Cross entropy of `states` [batch, tokens, width] times `head` [vocabulary,
/// width] with the classes `tokens` i64[batch, tokens], by parts of the tokens.
/// Requires LossHasHead().
NamedLoss CrossEntropyOfStates(const at::Tensor& states, const at::Tensor& head,
                               const at::Tensor& tokens);

/// A network from one tensor to one tensor.
class UnaryNetwork : public Network {
 public:
  /// x: the input as InputSpec describes it, [batch, …].
  virtual at::Tensor forward(const at::Tensor& x) = 0;

  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) final {
    return {forward(inputs.front())};
  }
};

/// Modules one after another, with the lifetimes of Python's nn.Sequential:
/// torch::nn::Sequential moves each result into the next module and frees it
/// earlier.
class ChainImpl : public torch::nn::Module {
 public:
  /// Appends a module holder or a shared_ptr; its name is its position.
  template <typename Module>
  void Add(Module module) {
    Add(fmt::format("{}", modules_.size()), std::move(module));
  }
  template <typename Module>
  void Add(const std::string& name, Module module) {
    torch::nn::AnyModule any(std::move(module));
    register_module(name, any.ptr());
    modules_.push_back(std::move(any));
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = x;
    for (torch::nn::AnyModule& module : modules_) {
      const ModuleScope scope(*module.ptr());
      y = module.forward<at::Tensor>(y);
    }
    return y;
  }

  std::size_t size() const { return modules_.size(); }
  bool is_empty() const { return modules_.empty(); }

 private:
  std::vector<torch::nn::AnyModule> modules_;
};
TORCH_MODULE(Chain);

}  // namespace foretell::zoo
