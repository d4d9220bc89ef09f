#include "training/compute_device.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include "foretell/error.h"

namespace foretell::training {

at::Device ComputeDevice(const std::string& name) {
  if (name == "cpu") return at::Device(at::kCPU);
  std::optional<at::Device> device;
  try {
    device.emplace(name);
  } catch (const c10::Error&) {
    device.reset();
  }
  if (!device || !device->is_cuda()) {
    throw Error(ErrorCode::kInvalidArgument,
                "device to compute on is '" + name + "', expected cpu or cuda");
  }
  const int gpus = at::detail::getCUDAHooks().deviceCount();
  if (std::max<int>(device->index(), 0) >= gpus) {
    throw Error(ErrorCode::kUnsupported, "no GPU to compute on as '" + name +
                                             "'; this LibTorch sees " +
                                             std::to_string(gpus));
  }
  return device->has_index() ? *device : at::Device(at::kCUDA, 0);
}

MixedPrecision::MixedPrecision(bool enabled) : enabled_(enabled) {
  if (!enabled_) return;
  at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCUDA, true);
  at::autocast::increment_nesting();
}

MixedPrecision::~MixedPrecision() {
  if (!enabled_) return;
  at::autocast::decrement_nesting();
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCUDA, false);
}

}  // namespace foretell::training
