#include "src/program/meta/shapes.h"

#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/TypeProperties.h>

#include <cstdint>
#include <utility>

namespace foretell::meta {

void ReturnLikeFirst(Call& call) { call.Return(Like(call.FirstTensor())); }

void ReturnContiguousSelf(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  call.Return(Contiguous(input.sizes(), input.scalar_type()));
}

void ReturnInFormatOfSelf(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  call.Return(InFormat(input.sizes(), input.scalar_type(),
                       input.suggest_memory_format()));
}

void ReturnPointwise(Call& call, const std::vector<at::Tensor>& inputs,
                     std::optional<at::ScalarType> dtype) {
  TORCH_CHECK(!inputs.empty(), call.schema().name(), ": no tensor to read");
  at::Tensor out = call.NextOutput();
  const bool is_given = out.defined();
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false)
      .check_all_same_dtype(false)
      .allow_cpu_scalars(true)
      .resize_outputs(true)
      .add_output(out);
  for (const at::Tensor& input : inputs) config.add_const_input(input);
  config.declare_static_dtype(
      is_given ? out.scalar_type()
               : dtype.value_or(at::native::result_type(inputs)));
  at::TensorIterator iterator = config.build();
  call.Return(is_given ? std::move(out) : iterator.output(0));
}

at::ScalarType PromotedType(const std::vector<at::Tensor>& inputs) {
  return at::native::result_type(inputs);
}

at::ScalarType AccumulateType(at::ScalarType dtype) {
  return c10::isReducedFloatingType(dtype) ? at::kFloat : dtype;
}

at::ScalarType FloatingType(at::ScalarType dtype) {
  return c10::isIntegralType(dtype, /*includeBool=*/true) ? at::kFloat : dtype;
}

std::size_t WrapDim(std::int64_t dim, std::int64_t rank) {
  return static_cast<std::size_t>(at::maybe_wrap_dim(dim, rank));
}

void RequireModest(std::int64_t input, const Window& window) {
  constexpr std::int64_t kLongestAxis = std::int64_t{1} << 32;
  constexpr std::int64_t kLongestWindow = std::int64_t{1} << 30;
  TORCH_CHECK(input <= kLongestAxis, "an axis of ", input,
              " elements has windows, expected at most ", kLongestAxis);
  for (const std::int64_t number :
       {window.kernel, window.stride, window.padding, window.dilation}) {
    TORCH_CHECK(number >= -kLongestWindow && number <= kLongestWindow,
                "a window's size, stride, padding or dilation is ", number,
                ", expected at most ", kLongestWindow);
  }
}

std::int64_t NumWindows(std::int64_t input, const Window& window) {
  RequireModest(input, window);
  TORCH_CHECK(window.stride > 0, "stride is ", window.stride,
              ", expected at least 1");
  const std::int64_t span =
      input + 2 * window.padding - window.dilation * (window.kernel - 1) - 1;
  TORCH_CHECK(span >= 0 || window.ceil_mode, "a window of ", window.kernel,
              " elements, dilation ", window.dilation,
              ", does not fit into an axis of ", input, " elements, padding ",
              window.padding);
  const std::int64_t round_up = window.ceil_mode ? window.stride - 1 : 0;
  std::int64_t count = (span + round_up) / window.stride + 1;
  // A last window that would start in the padding behind is dropped.
  if (window.ceil_mode &&
      (count - 1) * window.stride >= input + window.padding) {
    --count;
  }
  return count;
}

}  // namespace foretell::meta
