#include "frontends/onnx/ops/activation.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

/// Defaults of Selu, which are those of at::selu in float32.
constexpr double kSeluAlpha = 1.67326319217681884765625;
constexpr double kSeluGamma = 1.05070102214813232421875;

/// True when two attributes were meant to be the same number; attributes are
/// float32.
bool IsAbout(double a, double b) { return std::abs(a - b) < 1e-6; }

template <UnaryFunction function>
void LowerUnary(NodeContext& ctx) {
  ctx.Set(0, function(ctx.Tensor(0)));
}

// ---- Element by element ----------------------------------------------------

void LowerCelu(NodeContext& ctx) {
  ctx.Set(0, at::celu(ctx.Tensor(0), ctx.FloatAttribute("alpha", 1.0)));
}

void LowerElu(NodeContext& ctx) {
  ctx.Set(0, at::elu(ctx.Tensor(0), ctx.FloatAttribute("alpha", 1.0)));
}

void LowerSelu(NodeContext& ctx) {
  const double alpha = ctx.FloatAttribute("alpha", kSeluAlpha);
  const double gamma = ctx.FloatAttribute("gamma", kSeluGamma);
  const bool is_standard =
      IsAbout(alpha, kSeluAlpha) && IsAbout(gamma, kSeluGamma);
  const at::Tensor x = ctx.Tensor(0);
  ctx.Set(0, is_standard ? at::selu(x) : at::elu(x, alpha, gamma));
}

void LowerGelu(NodeContext& ctx) {
  const std::string approximate = ctx.StringAttribute("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    FailAttribute(ctx, "approximate", approximate);
  }
  ctx.Set(0, at::gelu(ctx.Tensor(0), approximate));
}

at::Tensor HardSigmoid(const at::Tensor& x, double alpha, double beta) {
  const bool is_standard = IsAbout(alpha, 1.0 / 6) && IsAbout(beta, 0.5);
  if (is_standard) return at::hardsigmoid(x);
  return at::clamp(x * alpha + beta, 0, 1);
}

void LowerHardSigmoid(NodeContext& ctx) {
  ctx.Set(0, HardSigmoid(ctx.Tensor(0), ctx.FloatAttribute("alpha", 0.2),
                         ctx.FloatAttribute("beta", 0.5)));
}

void LowerLeakyRelu(NodeContext& ctx) {
  ctx.Set(0, at::leaky_relu(ctx.Tensor(0), ctx.FloatAttribute("alpha", 0.01)));
}

void LowerSwish(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const double alpha = ctx.FloatAttribute("alpha", 1.0);
  ctx.Set(0, alpha == 1.0 ? at::silu(x) : x * at::sigmoid(x * alpha));
}

void LowerSwiGlu(NodeContext& ctx) {
  const at::Tensor gate = ctx.Tensor(0);
  const double alpha = ctx.FloatAttribute("alpha", 1.0);
  const at::Tensor swish =
      alpha == 1.0 ? at::silu(gate) : gate * at::sigmoid(gate * alpha);
  ctx.Set(0, swish * ctx.Tensor(1));
}

at::Tensor Softsign(const at::Tensor& x) { return x / (at::abs(x) + 1); }

at::Tensor Softplus(const at::Tensor& x) { return at::softplus(x); }

void LowerThresholdedRelu(NodeContext& ctx) {
  const double alpha = ctx.FloatAttribute("alpha", 1.0);
  ctx.Set(0, at::threshold(ctx.Tensor(0), alpha, 0));
}

at::Tensor Shrink(const at::Tensor& x, double bias, double lambda) {
  if (x.is_floating_point() && bias == 0) return at::hardshrink(x, lambda);
  if (x.is_floating_point() && bias == lambda) return at::softshrink(x, lambda);
  const at::Tensor number =
      x.is_floating_point() ? x : Computable(x).to(at::kDouble);
  const at::Tensor above =
      at::where(at::gt(number, lambda), number - bias, 0.0);
  const at::Tensor y = at::where(at::lt(number, -lambda), number + bias, above);
  return CastTo(y, x.scalar_type());
}

void LowerShrink(NodeContext& ctx) {
  ctx.Set(0, Shrink(ctx.Tensor(0), ctx.FloatAttribute("bias", 0.0),
                    ctx.FloatAttribute("lambd", 0.5)));
}

/// True when `slope` has one number in all, or one per channel when aligned at
/// the last dimension of `x` (before version 7: at the channels).
bool IsSlopePerChannel(const NodeContext& ctx, const at::Tensor& x,
                       const at::Tensor& slope) {
  if (slope.numel() == 1 || ctx.opset() < 7) return true;
  const std::int64_t channel = 1 - (x.dim() - slope.dim());
  return x.dim() >= 2 && channel >= 0 && channel < slope.dim() &&
         slope.size(channel) == slope.numel() && slope.numel() == x.size(1);
}

void LowerPRelu(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor slope = ctx.Tensor(1);
  if (IsWideUnsigned(x.scalar_type())) {
    ctx.Set(0, x);
  } else if (x.is_floating_point() && IsSlopePerChannel(ctx, x, slope)) {
    const auto flat = [](const at::Tensor& s) { return s.reshape(-1); };
    ctx.Set(0,
            at::prelu(x, slope.dim() == 1 ? slope : ViewOfWeight(slope, flat)));
  } else {
    ctx.Set(0, at::where(at::lt(x, 0), x * slope, x));
  }
}

// ---- Along an axis ---------------------------------------------------------

using AxisFunction = at::Tensor (*)(const at::Tensor&, std::int64_t axis);

at::Tensor Softmax(const at::Tensor& x, std::int64_t axis) {
  return at::softmax(x, axis);
}

at::Tensor LogSoftmax(const at::Tensor& x, std::int64_t axis) {
  return at::log_softmax(x, axis);
}

/// One at the first of the largest elements, zero elsewhere.
at::Tensor Hardmax(const at::Tensor& x, std::int64_t axis) {
  const at::Tensor largest = at::argmax(x, axis, /*keepdim=*/true);
  return at::zeros_like(x).scatter_(axis, largest, 1);
}

template <AxisFunction function>
void LowerAlongAxis(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const std::int64_t axis = AxisAttribute(ctx, -1, x.dim());
  ctx.Set(0, function(x, axis));
}

/// Before version 13 the dimensions starting at `axis` count as one.
template <AxisFunction function>
void LowerFlattened(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const std::int64_t axis = AxisAttribute(ctx, 1, x.dim());
  if (x.dim() == 0 || Product(x.sizes().slice(axis + 1)) == 1) {
    ctx.Set(0, function(x, axis));
    return;
  }
  const std::int64_t rows = Product(x.sizes().slice(0, axis));
  const std::int64_t columns = Product(x.sizes().slice(axis));
  ctx.Set(0, function(x.reshape({rows, columns}), 1).reshape(x.sizes()));
}

// ---- By name ---------------------------------------------------------------

using Parameters = std::array<double, 2>;

struct NamedActivation {
  std::string_view name;
  Parameters defaults;
  at::Tensor (*function)(const at::Tensor& x, const Parameters& parameters);
};

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

constexpr NamedActivation kNamedActivations[] = {
    {"Clip",
     {-kUnbounded, kUnbounded},
     [](const at::Tensor& x, const Parameters& p) {
       return at::clamp(x, p[0], p[1]);
     }},
    {"Elu",
     {1.0, 0},
     [](const at::Tensor& x, const Parameters& p) { return at::elu(x, p[0]); }},
    {"Gelu",
     {0, 0},
     [](const at::Tensor& x, const Parameters&) { return at::gelu(x); }},
    {"HardSigmoid",
     {0.2, 0.5},
     [](const at::Tensor& x, const Parameters& p) {
       return HardSigmoid(x, p[0], p[1]);
     }},
    {"HardSwish",
     {0, 0},
     [](const at::Tensor& x, const Parameters&) { return at::hardswish(x); }},
    {"LeakyRelu",
     {0.01, 0},
     [](const at::Tensor& x, const Parameters& p) {
       return at::leaky_relu(x, p[0]);
     }},
    {"Relu",
     {0, 0},
     [](const at::Tensor& x, const Parameters&) { return at::relu(x); }},
    {"Sigmoid",
     {0, 0},
     [](const at::Tensor& x, const Parameters&) { return at::sigmoid(x); }},
    {"Softplus",
     {0, 0},
     [](const at::Tensor& x, const Parameters&) { return Softplus(x); }},
    {"Tanh",
     {0, 0},
     [](const at::Tensor& x, const Parameters&) { return at::tanh(x); }},
};

constexpr OnnxOperator kActivationOperators[] = {
    {"Celu", {12, kAny}, &LowerCelu},
    {"Elu", {1, kAny}, &LowerElu},
    {"Gelu", {20, kAny}, &LowerGelu},
    {"HardSigmoid", {1, kAny}, &LowerHardSigmoid},
    {"HardSwish", {14, kAny}, &LowerUnary<&at::hardswish>},
    {"Hardmax", {1, 12}, &LowerFlattened<&Hardmax>},
    {"Hardmax", {13, kAny}, &LowerAlongAxis<&Hardmax>},
    {"LeakyRelu", {1, kAny}, &LowerLeakyRelu},
    {"LogSoftmax", {1, 12}, &LowerFlattened<&LogSoftmax>},
    {"LogSoftmax", {13, kAny}, &LowerAlongAxis<&LogSoftmax>},
    {"Mish", {18, kAny}, &LowerUnary<&at::mish>},
    {"PRelu", {1, kAny}, &LowerPRelu},
    {"Relu", {1, kAny}, &LowerUnary<&at::relu>},
    {"Selu", {1, kAny}, &LowerSelu},
    {"Shrink", {9, kAny}, &LowerShrink},
    {"Sigmoid", {1, kAny}, &LowerUnary<&at::sigmoid>},
    {"Softmax", {1, 12}, &LowerFlattened<&Softmax>},
    {"Softmax", {13, kAny}, &LowerAlongAxis<&Softmax>},
    {"Softplus", {1, kAny}, &LowerUnary<&Softplus>},
    {"Softsign", {1, kAny}, &LowerUnary<&Softsign>},
    {"SwiGLU", {28, kAny}, &LowerSwiGlu},
    {"Swish", {24, kAny}, &LowerSwish},
    {"Tanh", {1, kAny}, &LowerUnary<&at::tanh>},
    {"ThresholdedRelu", {10, kAny}, &LowerThresholdedRelu},
};

}  // namespace

at::Tensor ApplyActivation(const NodeContext& ctx, std::string_view name,
                           const at::Tensor& x,
                           const std::vector<double>& parameters) {
  for (const NamedActivation& row : kNamedActivations) {
    if (row.name != name) continue;
    Parameters values = row.defaults;
    for (size_t i = 0; i < values.size() && i < parameters.size(); ++i) {
      values[i] = parameters[i];
    }
    return row.function(x, values);
  }
  FailAttribute(ctx, "activation", name);
}

std::span<const OnnxOperator> ActivationOperators() {
  return kActivationOperators;
}

}  // namespace foretell::onnx
