#include "src/cli/analytic_prior.h"

#include "foretell/predictor.h"
#include "src/core/units.h"

namespace foretell::cli {

CostOptions CostOptionsOf(const std::string& host) {
  CostOptions options;
  if (host == "python") options.dispatch_scale = kPythonDispatchScale;
  return options;
}

training::Prior AnalyticPrior(const Environment& environment,
                              const std::string& host) {
  const AnalyticOptions options{.cost = CostOptionsOf(host)};
  const auto estimate = [environment, options](const OperatorGraph& graph,
                                               const DeviceSpec& device) {
    const Prediction prediction =
        Predictor::Analytic(device, environment, options).Predict(graph);
    return training::PriorFigures{.values = {ToMiB(prediction.memory.total),
                                             prediction.latency_ms,
                                             prediction.energy_j}};
  };
  return {.name = "analytic", .figures = {}, .estimate = estimate};
}

}  // namespace foretell::cli
