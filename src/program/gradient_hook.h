#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace foretell {

/// While it lives, runs a function each time the backward pass has made or
/// added to the gradient of a parameter, as a function of PyTorch's
/// Tensor.register_post_accumulate_grad_hook does.
class GradientHook {
 public:
  /// Requires: `parameter` requires a gradient and has no such hook.
  GradientHook(at::Tensor parameter, std::function<void()> run);
  ~GradientHook();
  GradientHook(GradientHook&&) = default;
  GradientHook& operator=(GradientHook&&) = delete;

 private:
  at::Tensor parameter_;  ///< Undefined once it was moved.
};

}  // namespace foretell
