#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/AutogradState.h>
#include <c10/util/typeid.h>

namespace foretell {

/// Gives LibTorch back, at its end, the state that a program can change beyond
/// its own run: whether autograd records on this thread, the CPU's generator of
/// random numbers, and the default element type. What is traced next, in the
/// same process, then answers as if it had come first.
class TorchStateScope {
 public:
  TorchStateScope();
  ~TorchStateScope();
  TorchStateScope(const TorchStateScope&) = delete;
  TorchStateScope& operator=(const TorchStateScope&) = delete;

 private:
  c10::AutogradState autograd_;
  at::Generator generator_;
  at::Tensor random_;  ///< The generator's state: bytes.
  caffe2::TypeMeta dtype_;
};

}  // namespace foretell
