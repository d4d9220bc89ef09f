#pragma once

#include "foretell/predictor.h"
#include "src/answer/least_figures.h"

namespace foretell::learned {

/// A prediction that is asked of trained networks. What it refers to must
/// outlive it.
struct LearnedRequest {
  const OperatorGraph& graph;
  const Run& run;  ///< With what the graph states.
  const DeviceSpec& device;
  const ContextModel& context;
  LeastFigures& least;  ///< Of the graph there: what no network may undercut.
  Method method = Method::kAuto;
};

/// Trained networks, as a Predictor asks them. Safe to use from several
/// threads.
class LearnedFigures {
 public:
  virtual ~LearnedFigures() = default;
  /// Replaces analytic figures of `prediction` by those of the networks, with
  /// warnings where there is a doubt. Requires that `prediction` is of the
  /// request.
  virtual void Improve(const LearnedRequest& request,
                       Prediction& prediction) const = 0;
};

}  // namespace foretell::learned
