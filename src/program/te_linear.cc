#include "src/program/te_linear.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/sum.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <string>
#include <vector>

#include "src/core/failure.h"
#include "src/program/private_operator.h"
#include "src/program/weighted_operators.h"

namespace foretell {
namespace {

using torch::autograd::AutogradContext;
using Tensors = torch::autograd::variable_list;

struct TeRecipeRow {
  const char* name;
  const char* values;     ///< Format of inputs and weights.
  const char* gradients;  ///< Of gradients of results.
  std::int64_t columns;   ///< Sizes of weights are multiples of it.
  std::int64_t rows;      ///< Rows of inputs are multiples of it.
  bool reads_twice;       ///< Finds the largest value before it casts.
  bool sums_bias;         ///< The cast sums up the gradient of a bias.
};

/// In the order of TeRecipe. Format.HYBRID of scales per tensor: gradients have
/// more exponents. bgrad_quantize (csrc/extensions/bias.cpp) fuses the sum for
/// two recipes.
constexpr TeRecipeRow kTeRecipes[] = {
    {"te-fp8", "e4m3", "e5m2", 16, 8, false, true},
    {"te-fp8-current", "e4m3", "e5m2", 16, 8, true, false},
    {"te-mxfp8", "mxfp8", "mxfp8", 32, 32, false, true},
    {"te-nvfp4", "nvfp4", "nvfp4", 16, 16, true, false},
};

const TeRecipeRow& RowOf(TeRecipe recipe) {
  return kTeRecipes[static_cast<std::size_t>(recipe)];
}

/// What a kernel makes of one operand; parts that no product needs are
/// undefined.
struct TeOperand {
  at::Tensor rows;
  at::Tensor row_scale;
  at::Tensor columns;
  at::Tensor column_scale;
  at::Tensor bias_gradient;
};

/// An argument that may be missing.
c10::IValue OrNone(const at::Tensor& x) {
  return x.defined() ? c10::IValue(x) : c10::IValue();
}

struct TeUse {
  bool by_rows = true;
  bool by_columns = true;
  bool sums = false;  ///< Sums up the rows in the same kernel.
};

/// Quantizer::quantize: one kernel, behind those that find the scale.
TeOperand Quantize(const at::Tensor& x, const char* format, bool reads_twice,
                   const TeUse& use) {
  at::Tensor scale;
  if (reads_twice) {
    scale = CallPrivate("transformer_engine::compute_scale_from_amax",
                        CallPrivate("transformer_engine::compute_amax", x));
  }
  const torch::jit::Stack parts = CallAllPrivate(
      "transformer_engine::quantize", x, OrNone(scale), std::string(format),
      use.by_rows, use.by_columns, use.sums);
  TeOperand operand = {parts[0].toTensor(), parts[1].toTensor(),
                       parts[2].toTensor(), parts[3].toTensor(),
                       parts[4].toTensor()};
  // A scale per tensor is that of both copies.
  if (!operand.column_scale.defined()) operand.column_scale = operand.row_scale;
  return operand;
}

/// general_gemm of left [.., k] and right [n, k], both by rows. Hopper needs
/// this layout for all products; Blackwell also reads others.
at::Tensor Multiply(const at::Tensor& left, const at::Tensor& left_scale,
                    const at::Tensor& right, const at::Tensor& right_scale,
                    const at::Tensor& bias, at::ScalarType type) {
  return CallPrivate("transformer_engine::gemm", left, OrNone(left_scale),
                     OrNone(right_scale), OrNone(bias), right, type);
}

at::Tensor AsTeRows(const at::Tensor& x) {
  return x.reshape({-1, x.size(-1)}).contiguous();
}

/// _Linear. Gradients exist only of what requires them.
struct TeFunction : torch::autograd::Function<TeFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            std::int64_t recipe, at::ScalarType type,
                            bool records) {
    const TeRecipeRow& row = RowOf(static_cast<TeRecipe>(recipe));
    const bool of_weight = records && weight.requires_grad();
    const bool of_input = records && input.requires_grad();
    const TeOperand left = Quantize(input.contiguous(), row.values,
                                    row.reads_twice, {.by_columns = of_weight});
    const TeOperand right =
        Quantize(weight, row.values, row.reads_twice, {.by_columns = of_input});
    const at::Tensor wide_bias = bias ? InType(*bias, type) : at::Tensor();
    std::vector<std::int64_t> sizes = input.sizes().vec();
    sizes.back() = weight.size(0);
    const at::Tensor result = Multiply(left.rows, left.row_scale, right.rows,
                                       right.row_scale, wide_bias, type);
    if (of_weight || of_input) {
      context->save_for_backward({left.columns, left.column_scale, right.rows,
                                  right.row_scale, right.columns,
                                  right.column_scale, weight});
    }
    context->saved_data["recipe"] = recipe;
    context->saved_data["sizes"] = input.sizes();
    context->saved_data["type"] = type;
    context->saved_data["of_input"] = of_input;
    context->saved_data["of_weight"] = of_weight;
    context->saved_data["of_bias"] = bias && bias->requires_grad();
    return result.view(sizes);
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    const Tensors saved = context->get_saved_variables();
    const auto flag = [&](const char* name) {
      return context->saved_data[name].toBool();
    };
    const TeRecipeRow& row =
        RowOf(static_cast<TeRecipe>(context->saved_data["recipe"].toInt()));
    const at::ScalarType type = context->saved_data["type"].toScalarType();
    const at::Tensor gradient = AsTeRows(gradients[0]);
    at::Tensor of_bias;
    const bool sums_apart = flag("of_bias") && !row.sums_bias;
    if (sums_apart) of_bias = at::sum(gradient, {0});
    const TeOperand left =
        Quantize(gradient, row.gradients, row.reads_twice,
                 {.by_columns = flag("of_weight") || flag("of_bias"),
                  .sums = flag("of_bias") && row.sums_bias});
    if (!sums_apart) of_bias = left.bias_gradient;
    at::Tensor of_input;
    at::Tensor of_weight;
    if (flag("of_input")) {
      of_input =
          Multiply(left.rows, left.row_scale, saved[4], saved[5], {}, type)
              .view(context->saved_data["sizes"].toIntVector());
    }
    if (flag("of_weight")) {
      of_weight = Multiply(left.columns, left.column_scale, saved[0], saved[1],
                           {}, type);
    }
    return {of_input, of_weight, of_bias, {}, {}, {}};
  }
};

}  // namespace

bool IsTeLayer(const at::Tensor& weight, TeRecipe recipe) {
  const std::int64_t multiple = RowOf(recipe).columns;
  return weight.dim() == 2 && weight.size(0) % multiple == 0 &&
         weight.size(1) % multiple == 0;
}

at::Tensor TeLinear(const at::Tensor& input, const at::Tensor& weight,
                    const at::Tensor& bias, TeRecipe recipe,
                    at::ScalarType type) {
  const TeRecipeRow& row = RowOf(recipe);
  const std::int64_t rows = input.numel() / weight.size(1);
  if (rows % row.rows != 0) {
    throw InvalidArgument("kernels '{}': {} tokens are no multiple of {}",
                          row.name, rows, row.rows);
  }
  // Its random Hadamard transforms take nothing else (quantize_impl in
  // csrc/quantizer.cpp).
  if (recipe == TeRecipe::kNvfp4 && input.scalar_type() != at::kBFloat16) {
    throw InvalidArgument("kernels '{}': the input is {}, expected BFloat16",
                          row.name, c10::toString(input.scalar_type()));
  }
  return TeFunction::apply(
      input, weight, bias.defined() ? std::optional(bias) : std::nullopt,
      static_cast<std::int64_t>(recipe), type, at::GradMode::is_enabled());
}

}  // namespace foretell
