#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace foretell::training {

/// "cpu", "cuda", "cuda:1" as a device of LibTorch; "cuda" is the GPU whose
/// number torchrun gave this worker in LOCAL_RANK, else the first. Throws
/// Error: kInvalidArgument for another name, kUnsupported when there is no such
/// device.
at::Device ComputeDevice(const std::string& name);

/// Lets matrix products of a scope run in bfloat16 on a GPU; without effect
/// unless `enabled`. Weights and sums stay float32, and the range of bfloat16
/// makes scaling the loss unnecessary.
class MixedPrecision {
 public:
  explicit MixedPrecision(bool enabled);
  ~MixedPrecision();
  MixedPrecision(const MixedPrecision&) = delete;
  MixedPrecision& operator=(const MixedPrecision&) = delete;

 private:
  bool enabled_;
};

}  // namespace foretell::training
