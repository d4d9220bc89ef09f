#include "src/answer/prior_figures.h"

#include <array>
#include <string_view>

#include "foretell/predictor.h"
#include "src/core/units.h"

namespace foretell::learned {
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

}  // namespace

std::vector<std::string> AnalyticPriorNames() {
  std::vector<std::string> names;
  for (const PartFigure& part : kParts) names.emplace_back(part.name);
  return names;
}

PriorFigures AnalyticPriorFigures(const OperatorGraph& graph,
                                  const DeviceSpec& device,
                                  const ContextModel& context, const Run& run,
                                  const std::optional<HostSpec>& host) {
  const Prediction prediction = Predictor::Analytic(device, run,
                                                    {.context = context,
                                                     .host = host,
                                                     .with_slices = false,
                                                     .with_least = false})
                                    .Predict(graph);
  PriorFigures prior;
  for (const Target target : kAllTargets) {
    ValueOf(prior.values, target) = prediction[target].value;
  }
  for (const PartFigure& part : kParts) {
    prior.figures.emplace(part.name, part.value(prediction));
  }
  return prior;
}

}  // namespace foretell::learned
