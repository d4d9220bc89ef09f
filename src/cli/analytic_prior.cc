#include "src/cli/analytic_prior.h"

#include <array>
#include <string_view>

#include "foretell/predictor.h"
#include "src/core/units.h"

namespace foretell::cli {
namespace {

/// A part of a prediction that its totals do not show.
struct PartFigure {
  std::string_view name;
  double (*value)(const Prediction&);
};

double RoleMib(const Prediction& prediction, TensorRole role) {
  return ToMiB(prediction.memory.AtPeak(role));
}

constexpr std::array<PartFigure, 9> kParts = {{
    {"allocated_mib",
     [](const Prediction& p) { return ToMiB(p.memory.allocated_peak); }},
    {"parameters_mib",
     [](const Prediction& p) { return RoleMib(p, TensorRole::kParameter); }},
    {"inputs_mib",
     [](const Prediction& p) { return RoleMib(p, TensorRole::kInput); }},
    {"activations_mib",
     [](const Prediction& p) { return ToMiB(p.memory.ActivationsAtPeak()); }},
    {"gradients_mib",
     [](const Prediction& p) { return RoleMib(p, TensorRole::kGradient); }},
    {"workspace_mib",
     [](const Prediction& p) { return ToMiB(p.memory.workspace_peak); }},
    {"compute_ms", [](const Prediction& p) { return p.cost.compute_ms; }},
    {"traffic_ms", [](const Prediction& p) { return p.cost.memory_ms; }},
    {"overhead_ms", [](const Prediction& p) { return p.cost.overhead_ms; }},
}};

training::PriorFigures FiguresOf(const Prediction& prediction) {
  training::PriorFigures figures{.values = {ToMiB(prediction.memory.total),
                                            prediction.latency_ms,
                                            prediction.energy_j}};
  for (const PartFigure& part : kParts) {
    figures.figures.emplace(part.name, part.value(prediction));
  }
  return figures;
}

}  // namespace

CostOptions CostOptionsOf(const std::string& host) {
  CostOptions options;
  if (host == "python") options.dispatch_scale = kPythonDispatchScale;
  return options;
}

training::Prior AnalyticPrior(const Environment& environment,
                              const std::string& host) {
  const AnalyticOptions options{.cost = CostOptionsOf(host)};
  training::Prior prior{.name = "analytic"};
  for (const PartFigure& part : kParts) prior.figures.emplace_back(part.name);
  prior.estimate = [environment, options](const OperatorGraph& graph,
                                          const DeviceSpec& device) {
    return FiguresOf(
        Predictor::Analytic(device, environment, options).Predict(graph));
  };
  return prior;
}

}  // namespace foretell::cli
