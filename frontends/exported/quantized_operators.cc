// Those of quantized_decomposed are computed as in PyTorch 2.13's
// torch/ao/quantization/fx/_decomposed.py. Checks of values, which wait for the
// GPU, are left out.

#include "frontends/exported/quantized_operators.h"

#include <ATen/ATen.h>

#include <limits>
#include <tuple>
#include <utility>

#include "frontends/exported/affine_quantization.h"
#include "frontends/exported/named_arguments.h"

namespace foretell::exported {
namespace {

using Values = std::vector<c10::IValue>;
using Ints = std::vector<std::int64_t>;

// ---- quantized_decomposed --------------------------------------------------

Values QuantizePerTensor(const NamedArguments& given) {
  at::Tensor x = FloatOfHalf(given.Tensor("input"));
  x = x.mul(1.0 / given.Number("scale", 1));
  x = at::round(x);
  x = x.add(given.Number("zero_point"));
  x = at::clamp(x, given.Number("quant_min", -1), given.Number("quant_max", 1));
  return {x.to(given.Type("dtype"))};
}

Values DequantizePerTensor(const NamedArguments& given) {
  at::Tensor x = given.Tensor("input").to(given.Type("out_dtype", at::kFloat));
  x = x.sub(given.Number("zero_point"));
  return {x.mul(given.Number("scale", 1))};
}

/// Parameters of an axis, for a tensor of `rank` axes that has it first.
at::Tensor AlongFirst(const at::Tensor& parameters, std::int64_t rank) {
  Ints shape(static_cast<std::size_t>(rank), 1);
  shape.at(0) = parameters.numel();
  return parameters.view(shape);
}

Values QuantizePerChannel(const NamedArguments& given) {
  const std::int64_t axis = given.Int("axis");
  at::Tensor x = FloatOfHalf(given.Tensor("input")).transpose(0, axis);
  const at::Tensor scales = AlongFirst(given.Tensor("scales"), x.dim());
  const at::Tensor zeros = AlongFirst(given.Tensor("zero_points"), x.dim());
  x = x.mul(Inverse(scales));
  x = Rounded(std::move(x), zeros, RangeFor(given, given.Type("dtype")));
  return {x.transpose(0, axis).to(given.Type("dtype"))};
}

Values DequantizePerChannel(const NamedArguments& given) {
  const std::int64_t axis = given.Int("axis");
  at::Tensor x = given.Tensor("input").transpose(0, axis);
  const at::Tensor scales = AlongFirst(given.Tensor("scales"), x.dim());
  if (given.Has("zero_points")) {
    x = x.sub(AlongFirst(given.Tensor("zero_points"), x.dim()));
  }
  x = x.mul(scales);
  x = x.to(given.Type("out_dtype", at::kFloat));
  return {x.transpose(0, axis)};
}

Values QuantizePerToken(const NamedArguments& given) {
  at::Tensor x = given.Tensor("input").mul(Inverse(given.Tensor("scales")));
  x = x.add(given.Tensor("zero_points"));
  x = at::round(x);
  x = at::clamp(x, given.Number("quant_min"), given.Number("quant_max"));
  return {x.to(given.Type("dtype"))};
}

Values DequantizePerToken(const NamedArguments& given) {
  at::Tensor x = given.Tensor("input").sub(given.Tensor("zero_points"));
  x = x.mul(given.Tensor("scales"));
  return {x.to(given.Type("output_dtype", at::kFloat))};
}

Values QuantizePerGroup(const NamedArguments& given) {
  const at::Tensor input = given.Tensor("input");
  at::Tensor x = input.reshape({-1, given.Int("group_size")});
  x = x.mul(Inverse(given.Tensor("scales").reshape({-1, 1})));
  x = x.add(given.Tensor("zero_points").reshape({-1, 1}));
  x = at::round(x);
  x = x.clamp_(given.Number("quant_min"), given.Number("quant_max"));
  return {x.to(given.Type("dtype")).reshape_as(input)};
}

Values DequantizePerGroup(const NamedArguments& given) {
  const at::Tensor input = given.Tensor("input");
  const at::Tensor scales = given.Tensor("scales").reshape({-1, 1});
  const at::Tensor zeros =
      given.Has("zero_points")
          ? given.Tensor("zero_points").reshape({-1, 1})
          : at::zeros({}, scales.options().dtype(at::kInt));
  at::Tensor x = input.reshape({-1, given.Int("group_size")});
  x = x.sub(zeros);
  x = x.mul(scales).reshape_as(input);
  return {x.to(given.Type("output_dtype", at::kFloat))};
}

/// determine_qparams of torch/ao/quantization/utils.py.
Values ChooseParameters(const NamedArguments& given, bool is_symmetric) {
  const auto [least, most] = at::aminmax(given.Tensor("input"));
  auto [low, high] = AroundZero(least, most);
  const std::int64_t min = given.Int("quant_min"), max = given.Int("quant_max");
  const auto steps = static_cast<double>(max - min);
  const at::Tensor eps = at::full({1}, given.Number("eps"), low.options());
  if (is_symmetric) high = at::maximum(low.neg(), high);
  at::Tensor scale =
      is_symmetric ? high.div(steps / 2) : high.sub(low).div(steps);
  scale = at::maximum(scale, eps);
  at::Tensor zero = at::zeros({1}, low.options().dtype(at::kLong));
  if (is_symmetric) {
    if (given.Type("dtype") == at::kByte) zero = zero.fill_(128);
  } else {
    zero = at::round(low.div(scale)).to(at::kInt);
    zero = at::clamp(at::rsub(zero, min), min, max);
  }
  return {scale.to(at::kDouble), zero.to(at::kLong)};
}

Values ChoosePerTensor(const NamedArguments& given) {
  return ChooseParameters(given, /*is_symmetric=*/false);
}

Values ChooseSymmetric(const NamedArguments& given) {
  return ChooseParameters(given, /*is_symmetric=*/true);
}

Values ChoosePerToken(const NamedArguments& given) {
  constexpr double kSmallest = 1e-5, kLargestCode = 127;
  const at::Tensor magnitude = given.Tensor("input").abs();
  at::Tensor scales = at::amax(magnitude, -1, /*keepdim=*/true);
  if (scales.scalar_type() == at::kHalf) scales = scales.to(at::kFloat);
  scales = scales.clamp_min(kSmallest).div(kLargestCode);
  return {scales, at::zeros_like(scales)};
}

Values ChoosePerTokenAsymmetric(const NamedArguments& given) {
  constexpr double kLow = -128, kHigh = 127;
  const at::Tensor x = given.Tensor("input");
  const at::Tensor least = at::amin(x, -1, /*keepdim=*/true);
  const at::Tensor most = at::amax(x, -1, /*keepdim=*/true);
  const auto [low, high] = AroundZero(least, most);
  at::Tensor scale = high.sub(low).div(kHigh - kLow);
  scale = scale.clamp_min(std::numeric_limits<float>::epsilon());
  const at::Tensor from_low = low.div(scale), from_high = high.div(scale);
  const at::Tensor error = from_low.add(kLow).add(from_high.add(kHigh));
  at::Tensor zero = at::where(error.gt(0), at::rsub(from_low, kLow),
                              at::rsub(from_high, kHigh));
  zero = at::round(at::clamp(zero, kLow, kHigh));
  return {scale.to(at::kDouble), zero.to(at::kLong)};
}

Values Converted(const NamedArguments& given) {
  return {given.Tensor("input").to(given.Type("dtype"))};
}

// ---- The table -------------------------------------------------------------

struct QuantizedRow {
  std::string_view name;  ///< Without overload, which the arguments show.
  Values (*call)(const NamedArguments&);
};

constexpr QuantizedRow kQuantizedRows[] = {
    {"quantized_decomposed.choose_qparams", &ChoosePerTensor},
    {"quantized_decomposed.choose_qparams_per_token", &ChoosePerToken},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric",
     &ChoosePerTokenAsymmetric},
    {"quantized_decomposed.choose_qparams_symmetric", &ChooseSymmetric},
    {"quantized_decomposed.convert_element_type", &Converted},
    {"quantized_decomposed.dequantize_per_channel", &DequantizePerChannel},
    {"quantized_decomposed.dequantize_per_channel_group", &DequantizePerGroup},
    {"quantized_decomposed.dequantize_per_tensor", &DequantizePerTensor},
    {"quantized_decomposed.dequantize_per_token", &DequantizePerToken},
    {"quantized_decomposed.quantize_per_channel", &QuantizePerChannel},
    {"quantized_decomposed.quantize_per_channel_group", &QuantizePerGroup},
    {"quantized_decomposed.quantize_per_tensor", &QuantizePerTensor},
    {"quantized_decomposed.quantize_per_token", &QuantizePerToken},
    {"torchao.choose_qparams_affine", &ChooseAffine},
    {"torchao.dequantize_affine", &DequantizeAffine},
    {"torchao.quantize_affine", &QuantizeAffine},
};

const QuantizedRow* FindQuantizedRow(std::string_view target) {
  constexpr std::string_view kOperators = "torch.ops.";
  if (!target.starts_with(kOperators)) return nullptr;
  target.remove_prefix(kOperators.size());
  target = target.substr(0, target.rfind('.'));
  for (const QuantizedRow& row : kQuantizedRows) {
    if (row.name == target) return &row;
  }
  return nullptr;
}

}  // namespace

bool IsQuantizedOperator(std::string_view target) {
  return FindQuantizedRow(target) != nullptr;
}

std::vector<c10::IValue> CallQuantizedOperator(std::string_view target,
                                               const NamedValues& values) {
  return FindQuantizedRow(target)->call(NamedArguments(values));
}

}  // namespace foretell::exported
