#include "src/program/grad_mode.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace foretell {
namespace {

/// Fused layers that PyTorch's modules call if nothing requires a gradient;
/// they have no gradient themselves.
constexpr std::array<std::string_view, 2> kInferenceOnly = {
    "_native_multi_head_attention", "_transformer_encoder_layer_fwd"};

bool RunsInInferenceOnly(const Node& node) {
  return std::ranges::find(kInferenceOnly, node.target) != kInferenceOnly.end();
}

bool IsParameter(const Storage& storage) {
  return storage.role == TensorRole::kParameter;
}

}  // namespace

void RequireGradients(const ProgramInstance& instance) {
  const std::vector<NamedTensor> parameters = instance.Parameters();
  const bool is_said =
      std::ranges::any_of(parameters, [](const NamedTensor& parameter) {
        return parameter.tensor.requires_grad();
      });
  if (is_said) return;
  for (const NamedTensor& parameter : parameters) {
    if (!at::isFloatingType(parameter.tensor.scalar_type())) continue;
    parameter.tensor.set_requires_grad(true);
  }
}

std::vector<std::string> GradModeWarnings(const OperatorGraph& graph) {
  std::vector<std::string> warnings;
  if (!graph.info().grad_mode) return warnings;
  if (std::ranges::none_of(graph.storages(), &IsParameter)) {
    warnings.emplace_back(
        "no tensor of the network is a parameter (a frozen module has none): "
        "autograd keeps nothing for a backward pass");
  }
  const auto fused = std::ranges::find_if(graph.nodes(), &RunsInInferenceOnly);
  if (fused != graph.nodes().end()) {
    warnings.push_back(
        fused->target +
        " was exported under no_grad and keeps nothing; with autograd on, "
        "PyTorch's module runs separate operators, which keep more");
  }
  return warnings;
}

}  // namespace foretell
