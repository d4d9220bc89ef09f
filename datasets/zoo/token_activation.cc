#include "datasets/zoo/token_activation.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>
#include <ranges>
#include <utility>

#include "datasets/zoo/family.h"

namespace foretell::zoo {
namespace {

constexpr std::array<std::pair<std::string_view, TokenActivation>, 6>
    kTokenActivations = {{
        {"silu", [](const at::Tensor& x) { return at::silu(x); }},
        {"gelu", [](const at::Tensor& x) { return at::gelu(x); }},
        {"gelu_tanh", [](const at::Tensor& x) { return at::gelu(x, "tanh"); }},
        {"gelu_new", &TanhGelu},
        {"relu", [](const at::Tensor& x) { return at::relu(x); }},
        // ReLUSquaredActivation of transformers.
        {"relu2", [](const at::Tensor& x) { return at::square(at::relu(x)); }},
    }};

}  // namespace

TokenActivation FindTokenActivation(std::string_view name) {
  for (const auto& [known, activation] : kTokenActivations) {
    if (known == name) return activation;
  }
  Require(false,
          fmt::format("activation={}: expected one of {}", name,
                      fmt::join(kTokenActivations | std::views::keys, ", ")));
  return nullptr;
}

// One operator a line: a temporary in C++ would live to the end of the whole
// expression.
at::Tensor TanhGelu(const at::Tensor& x) {
  const double slope = std::sqrt(2 / std::numbers::pi);
  const at::Tensor half = x * 0.5;
  at::Tensor y = at::pow(x, 3.0);
  y = y * 0.044715;
  y = at::add(x, y);
  y = y * slope;
  y = at::tanh(y);
  y = y + 1.0;
  return half * y;
}

}  // namespace foretell::zoo
