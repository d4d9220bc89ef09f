// Fourier transforms.

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

void RealToComplex(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  Sizes sizes = input.sizes().vec();
  const Sizes dims = call.Ints("dim");
  if (call.Bool("onesided", true) && !dims.empty()) {
    std::int64_t& length = sizes[WrapDim(dims.back(), input.dim())];
    length = length / 2 + 1;
  }
  call.Return(Contiguous(sizes, c10::toComplexType(input.scalar_type())));
}

void ComplexToReal(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  Sizes sizes = input.sizes().vec();
  const Sizes dims = call.Ints("dim");
  if (!dims.empty()) {
    sizes[WrapDim(dims.back(), input.dim())] = call.Int("last_dim_size");
  }
  call.Return(Contiguous(sizes, c10::toRealValueType(input.scalar_type())));
}

constexpr KernelRow kFftKernels[] = {
    {"_fft_c2c", ReturnContiguousSelf},
    {"_fft_r2c", RealToComplex},
    {"_fft_c2r", ComplexToReal},
};

}  // namespace

std::span<const KernelRow> FftKernels() { return kFftKernels; }

}  // namespace foretell::meta
