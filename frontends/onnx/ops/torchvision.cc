#include "frontends/onnx/ops/torchvision.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <utility>

namespace foretell::onnx {
namespace {

c10::DispatchKey KeyOf(at::Device device) {
  switch (device.type()) {
    case c10::DeviceType::Meta:
      return c10::DispatchKey::Meta;
    case c10::DeviceType::CUDA:
      return c10::DispatchKey::CUDA;
    default:
      return c10::DispatchKey::CPU;
  }
}

}  // namespace

at::Tensor CallTorchvision(const char* name, at::Device device,
                           std::vector<c10::IValue> arguments) {
  const auto op = c10::Dispatcher::singleton().findSchema(
      {std::string("torchvision::") + name, ""});
  if (!op || !op->hasKernelForDispatchKey(KeyOf(device)) ||
      op->schema().arguments().size() != arguments.size()) {
    return {};
  }
  torch::jit::Stack stack = std::move(arguments);
  op->callBoxed(stack);
  return stack.front().toTensor();
}

}  // namespace foretell::onnx
