// While a trace runs on meta, operators whose tensors all lie on the CPU run
// for real: a file's shape arithmetic needs their values. LibTorch's kernels
// for the CPU do not all check what they are given: out of 3,665 some two dozen
// read or write beyond their tensors. So it is a list of what may run, not of
// what may not. Total time is bounded by the process's limits.
#include "src/program/host_operators.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <string>

#include "src/core/failure.h"
#include "src/program/operator_call.h"

namespace foretell {
namespace {

// clang-format off
constexpr std::string_view kHostOperators[] = {
    "__and__", "__lshift__", "__or__", "__rshift__", "__xor__", "_to_copy",
    "abs", "absolute", "acos", "add", "addcdiv", "addcmul", "adjoint", "alias",
    "all", "amax", "amin", "aminmax", "any", "arange", "argmax", "argmin",
    "argsort", "asin", "atan", "atan2", "atleast_1d", "atleast_2d", "bernoulli",
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "block_diag", "broadcast_tensors",
    "broadcast_to", "bucketize", "cat", "ceil", "chunk", "clamp", "clamp_max",
    "clamp_min", "clip", "clone", "column_stack", "complex", "concat",
    "concatenate", "constant_pad_nd", "contiguous", "copy", "cos", "cosh",
    "count_nonzero", "cumprod", "cumsum", "detach", "diag", "diag_embed",
    "diagonal", "div", "divide", "dstack", "empty", "empty_like",
    "empty_strided", "eq", "erf", "exp", "exp2", "expand", "expand_as", "expm1",
    "eye", "fill", "flatten", "flip", "float_power", "floor", "floor_divide",
    "fmod", "frac", "full", "full_like", "gather", "ge", "greater",
    "greater_equal", "gt", "hamming_window", "hann_window", "hstack", "imag",
    "index", "index_put", "index_select", "is_nonzero", "isfinite", "isinf",
    "isnan", "item", "le", "lerp", "less", "less_equal", "lift", "lift_fresh",
    "linalg_vector_norm", "linspace", "log", "log10", "log1p", "log2",
    "logical_and", "logical_not", "logical_or", "logical_xor", "logspace", "lt",
    "mT", "masked_fill", "masked_select", "max", "maximum", "mean", "median",
    "meshgrid", "min", "minimum", "moveaxis", "movedim", "mul", "multiply",
    "nan_to_num", "narrow", "ne", "neg", "negative", "new_empty",
    "new_empty_strided", "new_full", "new_ones", "new_zeros", "nonzero", "norm",
    "normal", "not_equal", "numpy_T", "ones", "ones_like", "outer", "pad",
    "permute", "polar", "positive", "pow", "prod", "rand", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "randperm", "range",
    "ravel", "real", "reciprocal", "relu", "remainder", "repeat",
    "repeat_interleave", "reshape", "reshape_as", "roll", "round", "rsqrt",
    "rsub", "scalar_tensor", "scatter", "select", "sigmoid", "sign", "sin",
    "sinh", "slice", "softmax", "sort", "split", "split_with_sizes", "sqrt",
    "square", "squeeze", "stack", "std", "sub", "subtract", "sum", "swapaxes",
    "swapdims", "t", "tan", "tanh", "tensor_split", "tile", "to", "transpose",
    "tril", "tril_indices", "triu", "triu_indices", "true_divide", "trunc",
    "type_as", "unbind", "unflatten", "unfold", "uniform", "unsafe_chunk",
    "unsafe_split", "unsqueeze", "var", "view", "view_as", "view_as_complex",
    "view_as_real", "vstack", "where", "zero", "zeros", "zeros_like"
};
// clang-format on

/// Operators that divide integers by integers.
constexpr std::string_view kDivisions[] = {"div", "divide", "floor_divide",
                                           "fmod", "remainder"};

/// "add" of aten::add_ and aten::add; empty outside of ATen.
std::string_view PlainName(std::string_view name) {
  constexpr std::string_view kAten = "aten::";
  if (!name.starts_with(kAten)) return "";
  name.remove_prefix(kAten.size());
  const bool is_in_place = name.ends_with('_') && !name.ends_with("__");
  return name.substr(0, name.size() - (is_in_place ? 1 : 0));
}

bool IsMinusOne(const c10::IValue& divisor) {
  if (divisor.isInt()) return divisor.toInt() == -1;
  if (!divisor.isTensor() || !divisor.toTensor().defined()) return false;
  const at::Tensor& tensor = divisor.toTensor();
  return at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false) &&
         at::eq(tensor, -1).any().item<bool>();
}

/// Whether a 32-bit or 64-bit integer is the smallest; narrower ones are
/// divided as wider ones.
bool IsSmallest(const c10::IValue& dividend) {
  if (!dividend.isTensor() || !dividend.toTensor().defined()) return false;
  const at::Tensor& tensor = dividend.toTensor();
  const bool is_long = tensor.scalar_type() == at::kLong;
  if (!is_long && tensor.scalar_type() != at::kInt) return false;
  const std::int64_t smallest =
      is_long ? std::numeric_limits<std::int64_t>::min()
              : std::int64_t{std::numeric_limits<std::int32_t>::min()};
  return at::eq(tensor, smallest).any().item<bool>();
}

[[noreturn]] void RefuseOnHost(const std::string& why) {
  throw Unsupported("computes on the host: {}; try --trace cpu", why);
}

}  // namespace

std::span<const std::string_view> HostOperators() { return kHostOperators; }

void RequireHostOperator(const c10::FunctionSchema& schema,
                         const torch::jit::Stack& stack) {
  const std::string_view name = PlainName(schema.name());
  if (MakesTensors(schema) &&
      !std::ranges::binary_search(kHostOperators, name)) {
    RefuseOnHost(
        "it is not one of the operators that may, in a trace without "
        "arithmetic");
  }
  const std::size_t first = stack.size() - schema.arguments().size();
  for (std::size_t i = first; i < stack.size(); ++i) {
    ForEachTensor(stack[i], [](const at::Tensor& tensor) {
      if (tensor.numel() <= kMaxHostElements) return;
      RefuseOnHost(fmt::format("a tensor has {} elements, at most {} are read",
                               tensor.numel(), kMaxHostElements));
    });
  }
  if (std::ranges::find(kDivisions, name) != std::end(kDivisions) &&
      IsMinusOne(stack[first + 1]) && IsSmallest(stack[first])) {
    RefuseOnHost("the smallest integer is divided by -1");
  }
}

}  // namespace foretell
