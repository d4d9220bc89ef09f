// Softmax of half numbers into float as CUDA fuses it: no converted copy of the
// input lives on the way (ATen/native/SoftMax.cpp, LibTorch 2.13). Of bfloat16
// there is one on CUDA, too.

#include <ATen/ATen.h>

#include <optional>

#include "src/program/meta/families.h"

namespace foretell::meta {
namespace {

using Function = at::Tensor (*)(const at::Tensor&, std::int64_t, bool);

template <Function function>
void ConvertingInside(Call& call) {
  const at::Tensor input = call.Tensor("self");
  const std::int64_t dim = call.Int("dim");
  const std::optional<at::ScalarType> dtype = call.DType("dtype");
  if (input.scalar_type() == at::kHalf && dtype == at::kFloat) {
    return call.Return(function(input, dim, /*half_to_float=*/true));
  }
  call.Return(function(dtype ? input.to(*dtype) : input, dim, false));
}

constexpr KernelRow kRows[] = {
    {"softmax.int", ConvertingInside<&at::_softmax>, Policy::kOverrideWhole},
    {"log_softmax.int", ConvertingInside<&at::_log_softmax>,
     Policy::kOverrideWhole},
};

}  // namespace

std::span<const KernelRow> SoftmaxKernels() { return kRows; }

}  // namespace foretell::meta
