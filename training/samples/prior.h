#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foretell/dataset.h"
#include "foretell/device.h"
#include "foretell/host.h"
#include "foretell/run.h"
#include "src/answer/prior_figures.h"

namespace foretell::training {

using learned::PriorFigures;

/// A first estimate that a graph network corrects, prediction = prior ×
/// exp(output), and that a term network is averaged with.
struct Prior {
  std::string name;                  ///< As checkpoints store it.
  std::vector<std::string> figures;  ///< Names of PriorFigures::figures.
  /// Called from several threads at once. Throws Error for a graph or a device
  /// that it cannot estimate.
  std::function<PriorFigures(const OperatorGraph&, const DeviceSpec&,
                             const Run&)>
      estimate;
};

/// Predictor::Analytic as a prior, of the host that AnalyticPriorFigures takes.
Prior AnalyticPrior(const ContextModel& context,
                    const std::optional<HostSpec>& host);

/// A graph to estimate on a device, with the run of its label.
struct PriorRequest {
  RowId graph = 0;
  const DeviceSpec* device = nullptr;
  Run run = {};
  auto operator<=>(const PriorRequest&) const = default;
};

/// Estimates requests, each once, with `threads` threads, each with its own
/// handle to the dataset. The first error is thrown, with the graph's row.
std::map<PriorRequest, PriorFigures> EstimatePriors(
    const std::string& dataset, const Prior& prior,
    std::vector<PriorRequest> requests, int threads);

}  // namespace foretell::training
