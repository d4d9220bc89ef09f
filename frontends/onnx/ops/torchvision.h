#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <vector>

namespace foretell::onnx {

/// Calls the operator `torchvision::name`, which eager code would run, if it is
/// registered with a kernel for `device`, and returns its first result;
/// otherwise returns an undefined tensor.
at::Tensor CallTorchvision(const char* name, at::Device device,
                           std::vector<c10::IValue> arguments);

}  // namespace foretell::onnx
