// A GPU that does nothing. Loaded into a Python process with a CPU build of
// PyTorch, its hooks and device guards let tensors of FakeTensorMode be on
// "cuda" and go through autograd: only their device is read, no memory and no
// kernel of a GPU is used.

#include <ATen/DeviceAccelerator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {

constexpr long kCudnn = 91900;
constexpr long kCudnnFrontend = 11500;

class NoOpHooks final : public at::CUDAHooksInterface {
 public:
  explicit NoOpHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  // Convolutions choose cuDNN, whose results lie as their operands.
  bool compiledWithCuDNN() const override { return true; }
  long versionCuDNN() const override { return kCudnn; }
  long versionRuntimeCuDNN() const override { return kCudnn; }
  long versionCuDNNFrontend() const override { return kCudnnFrontend; }
  double batchnormMinEpsilonCuDNN() const override { return 0; }
  bool supportsDilatedConvolutionWithCuDNN() const override { return true; }
  bool supportsDepthwiseConvolutionWithCuDNN() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return false; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
};

class NoOpCuda final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
  c10::Device exchangeDevice(c10::Device) const override { return device(); }
  c10::Device getDevice() const override { return device(); }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override { return stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(); }
  c10::Stream getNewStream(c10::Device, int) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const override { return stream(); }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

 private:
  static c10::Device device() { return {c10::DeviceType::CUDA, 0}; }
  static c10::Stream stream() {
    return c10::Stream(c10::Stream::DEFAULT, device());
  }
};

}  // namespace

// Replaces LibTorch's own, which knows the devices that it was built for: this
// library is loaded before it.
std::optional<c10::DeviceType> at::accelerator::getAccelerator(
    bool /*checked*/) {
  return c10::DeviceType::CUDA;
}

namespace at {
using ::NoOpHooks;
C10_REGISTER_TYPED_CLASS(CUDAHooksRegistry, "CUDAHooks", NoOpHooks)
}  // namespace at

C10_REGISTER_GUARD_IMPL(CUDA, NoOpCuda)
