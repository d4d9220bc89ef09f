#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <vector>

namespace foretell::onnx {

/// Calls the operator `torchvision::name`, which is what eager code would run,
/// when somebody has registered it with a kernel for `device`; an undefined
/// tensor otherwise. Returns its first result.
at::Tensor CallTorchvision(const char* name, at::Device device,
                           std::vector<c10::IValue> arguments);

}  // namespace foretell::onnx
