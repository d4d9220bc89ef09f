#include "training/fit/compute_device.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "foretell/error.h"
#include "src/core/failure.h"

namespace foretell::training {
namespace {

std::string OwnGpu() {
  const char* local_rank = std::getenv("LOCAL_RANK");
  return local_rank != nullptr ? local_rank : "0";
}

}  // namespace

at::Device ComputeDevice(const std::string& name) {
  if (name == "cpu") return at::Device(at::kCPU);
  std::optional<at::Device> device;
  try {
    device.emplace(name == "cuda" ? "cuda:" + OwnGpu() : name);
  } catch (const c10::Error&) {
    device.reset();
  }
  if (!device || !device->is_cuda()) {
    throw InvalidArgument("device to compute on is '{}', expected cpu or cuda",
                          name);
  }
  const int gpus = at::detail::getCUDAHooks().deviceCount();
  if (std::max<int>(device->index(), 0) >= gpus) {
    throw Unsupported("no GPU to compute on as '{}'; this LibTorch sees {}",
                      name, gpus);
  }
  return *device;
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
