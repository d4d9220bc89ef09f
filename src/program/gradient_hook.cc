#include "src/program/gradient_hook.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <utility>

namespace foretell {
namespace {

class RunningHook : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit RunningHook(std::function<void()> run) : run_(std::move(run)) {}
  void operator()(const at::Tensor& /*parameter*/) override { run_(); }

 private:
  std::function<void()> run_;
};

}  // namespace

GradientHook::GradientHook(at::Tensor parameter, std::function<void()> run)
    : parameter_(std::move(parameter)) {
  torch::autograd::impl::set_post_acc_grad_hooks(
      parameter_, std::make_unique<RunningHook>(std::move(run)));
}

GradientHook::~GradientHook() {
  if (!parameter_.defined()) return;
  torch::autograd::impl::set_post_acc_grad_hooks(parameter_, nullptr);
}

}  // namespace foretell
