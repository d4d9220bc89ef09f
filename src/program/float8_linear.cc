#include "src/program/float8_linear.h"

#include <ATen/ops/_scaled_mm.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/exp2.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/max.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/reciprocal.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <utility>
#include <vector>

#include "src/program/weighted_operators.h"

namespace foretell {
namespace {

using torch::autograd::AutogradContext;

constexpr std::int64_t kFloat8Multiple = 16;
constexpr double kLargestE4m3 = 448;
constexpr double kLargestE5m2 = 57344;
constexpr double kLeastAmax = 1e-12;

/// Values of 8 bits and the scale by which they were multiplied.
struct Float8Operand {
  at::Tensor bits;
  at::Tensor scale;
};

/// tensor_to_scale: of the whole tensor, or along `dim`.
at::Tensor ScaleOf(const at::Tensor& x, std::optional<std::int64_t> dim,
                   at::ScalarType type, bool rounds) {
  at::Tensor amax = dim ? at::amax(at::abs(x), {*dim}, /*keepdim=*/true)
                        : at::max(at::abs(x));
  amax = at::clamp(amax.to(at::kDouble), kLeastAmax);
  const double largest = type == at::kFloat8_e5m2 ? kLargestE5m2 : kLargestE4m3;
  at::Tensor scale = at::mul(at::reciprocal(amax), largest).to(at::kFloat);
  if (rounds) scale = at::exp2(at::floor(at::log2(scale)));
  return scale;
}

/// hp_tensor_to_float8_dynamic: a copy in f32 is scaled, then clamped, then
/// cast.
Float8Operand CastFloat8(const at::Tensor& x, std::optional<std::int64_t> dim,
                         at::ScalarType type, bool rounds) {
  at::Tensor scale = ScaleOf(x, dim, type, rounds);
  const at::Tensor scaled = at::mul(x.to(at::kFloat), scale);
  const double largest = type == at::kFloat8_e5m2 ? kLargestE5m2 : kLargestE4m3;
  at::Tensor bits = at::clamp(scaled, -largest, largest).to(type);
  return {std::move(bits), std::move(scale)};
}

/// float8_mm: the left operand by rows, the right one by columns, which copies
/// those that lie otherwise. Scales by rows are multiplied to the result unless
/// sums are less exact (`fast`), as only the product without them is quick.
at::Tensor MultiplyFloat8(const Float8Operand& left, const Float8Operand& right,
                          at::ScalarType type, bool fast) {
  const at::Tensor a = left.bits.contiguous();
  const at::Tensor b = right.bits.t().contiguous().t();
  at::Tensor a_scale = at::reciprocal(left.scale);
  at::Tensor b_scale = at::reciprocal(right.scale);
  if (fast || a_scale.dim() == 0) {
    return at::_scaled_mm(a, b, a_scale, b_scale, {}, {}, type, fast);
  }
  const at::Tensor scales = at::mul(a_scale, b_scale);
  a_scale = at::ones({}, a_scale.options());
  b_scale = at::ones({}, a_scale.options());
  at::Tensor product = at::_scaled_mm(a, b, a_scale, b_scale, {}, {}, type);
  return product.mul_(scales);
}

Float8Operand TransposedFloat8(const Float8Operand& operand) {
  return {operand.bits.t(), operand.scale.t()};
}

at::Tensor AsRows(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

/// Casts operands as a recipe does: to e4m3, gradients of results with one
/// scale to e5m2.
class Float8Caster {
 public:
  explicit Float8Caster(Float8Recipe recipe)
      : recipe_(recipe), by_rows_(recipe != Float8Recipe::kTensorwise) {}

  Float8Operand Values(const at::Tensor& x, std::int64_t dim) const {
    return CastFloat8(x, Along(dim), at::kFloat8_e4m3fn, by_rows_);
  }
  Float8Operand Gradient(const at::Tensor& x, std::int64_t dim) const {
    return CastFloat8(x, Along(dim),
                      by_rows_ ? at::kFloat8_e4m3fn : at::kFloat8_e5m2,
                      by_rows_);
  }
  /// The weight [in, out] for the gradient of the input.
  Float8Operand WeightForGradient(const at::Tensor& x) const {
    if (recipe_ == Float8Recipe::kRowwiseWideGrad) {
      return CastFloat8(x, std::nullopt, at::kFloat8_e4m3fn, by_rows_);
    }
    return Values(x, -1);
  }

 private:
  std::optional<std::int64_t> Along(std::int64_t dim) const {
    return by_rows_ ? std::optional(dim) : std::nullopt;
  }

  Float8Recipe recipe_;
  bool by_rows_;
};

/// matmul_with_hp_or_float8_args. What Python names lives until it returns;
/// both gradients are made whether they are needed or not.
struct Float8Function : torch::autograd::Function<Float8Function> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, std::int64_t recipe) {
    const Float8Caster caster(static_cast<Float8Recipe>(recipe));
    context->save_for_backward({input, weight});
    context->saved_data["recipe"] = recipe;
    const Float8Operand left = caster.Values(AsRows(input), -1);
    const Float8Operand right = caster.Values(weight.t(), 0);
    std::vector<std::int64_t> sizes = input.sizes().vec();
    sizes.back() = weight.size(0);
    return MultiplyFloat8(left, right, input.scalar_type(), /*fast=*/true)
        .reshape(sizes);
  }

  static torch::autograd::variable_list backward(
      AutogradContext* context,
      const torch::autograd::variable_list& gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const auto recipe =
        static_cast<Float8Recipe>(context->saved_data["recipe"].toInt());
    const Float8Caster caster(recipe);
    const at::Tensor gradient = AsRows(gradients[0]);
    const at::ScalarType type = gradient.scalar_type();
    const Float8Operand left = caster.Gradient(gradient, -1);
    const Float8Operand weight = caster.WeightForGradient(saved[1].t());
    const at::Tensor of_input =
        MultiplyFloat8(left, TransposedFloat8(weight), type, /*fast=*/false);
    const at::Tensor input = AsRows(saved[0]);
    if (recipe == Float8Recipe::kRowwiseWideGrad) {
      return {
          of_input.reshape(saved[0].sizes()), at::mm(gradient.t(), input), {}};
    }
    const Float8Operand columns = caster.Gradient(gradient, 0);
    const Float8Operand right = caster.Values(input, 0);
    const at::Tensor of_weight =
        MultiplyFloat8(TransposedFloat8(columns), right, type, /*fast=*/false);
    return {of_input.reshape(saved[0].sizes()), of_weight, {}};
  }
};

}  // namespace

bool IsFloat8Layer(const at::Tensor& weight) {
  return weight.dim() == 2 && weight.size(0) % kFloat8Multiple == 0 &&
         weight.size(1) % kFloat8Multiple == 0;
}

at::Tensor Float8Linear(const at::Tensor& input, const at::Tensor& weight,
                        const at::Tensor& bias, Float8Recipe recipe) {
  const at::Tensor result =
      Float8Function::apply(input, weight, static_cast<std::int64_t>(recipe));
  return bias.defined() ? at::add(result, InType(bias, result.scalar_type()))
                        : result;
}

}  // namespace foretell
