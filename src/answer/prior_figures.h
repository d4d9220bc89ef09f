#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/graph.h"
#include "foretell/host.h"
#include "foretell/run.h"
#include "src/features/targets.h"

namespace foretell::learned {

/// What a prior predicts for one graph on one device.
struct PriorFigures {
  TargetValues values = kNoValues;  ///< MiB, ms, J.
  /// Further numbers above -1 by name, for the network to see as input columns
  /// "prior:NAME".
  std::map<std::string, double> figures;
};

/// Names of the figures of AnalyticPriorFigures.
std::vector<std::string> AnalyticPriorNames();

/// What Predictor::Analytic predicts for `graph`, executed as in `run`. `host`
/// is the typical one, whatever the device, as networks have learned; empty:
/// the one that predictions expect of the device.
PriorFigures AnalyticPriorFigures(
    const OperatorGraph& graph, const DeviceSpec& device,
    const ContextModel& context, const Run& run,
    const std::optional<HostSpec>& host = HostSpec{});

}  // namespace foretell::learned
