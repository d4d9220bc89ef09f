#pragma once

#include <optional>
#include <string>
#include <vector>

#include "foretell/predictor.h"
#include "src/answer/learned_figures.h"
#include "src/network/checkpoint.h"

namespace foretell::learned {

/// What a network predicts for one graph.
struct LearnedFigure {
  Target target = Target::kMemory;
  double value = 0;  ///< MiB, ms or J.
  std::optional<Interval> interval;
  FigureSource source;
  /// From this distance on the network knows nothing of the graph; empty: it
  /// has no distance.
  std::optional<double> outside_distance = {};

  /// States how far the graph is from those learned from; requires a distance.
  std::string FarText() const;
  bool IsOutside() const {
    return source.distance && outside_distance &&
           *source.distance > *outside_distance;
  }
};

/// Whether every label that it was trained on was simulated.
bool IsOnlySimulated(const CheckpointInfo& info);

/// What LearnedFigure::outside_distance is for networks whose far distance was
/// found, as a multiple of that, and for others in deviations. Both are
/// choices: PMGNS, one of the others, has Swin at batch 128, which it learned
/// from, at 1.8 and LLaMA-2 at 2.5.
inline constexpr double kOutsidePerFar = 2;
inline constexpr double kOutsideDeviations = 2;

/// "learned from …" or "learned from simulated labels of …", with the devices
/// of the labels.
FigureSource SourceOf(const CheckpointInfo& info,
                      std::optional<double> distance);

/// Throws Error(kCorrupt) that begins with `origin`, a checkpoint's name, if
/// the figure or an end of its interval is not a number from 1e-6 to 1e9: no
/// step of a network costs so little or so much.
void RefuseImplausible(const LearnedFigure& figure, const std::string& origin);

/// Replaces the analytic figure by `figure`, unless it is less than the step
/// costs by arithmetic alone, or the graph lies outside of what the network
/// learned: then the analytic one stays, its source says so, and it gets a
/// warning. Returns whether it was replaced.
///
/// The one way in for every learned figure: a gate never passes a step because
/// of a network that does not know it.
bool TakeFigure(const LearnedFigure& figure, const LearnedRequest& request,
                Prediction& prediction);

/// Warns that the analytic figure stays, and why.
void KeepAnalytic(Target target, const std::string& reason,
                  Prediction& prediction);

/// Replaces the analytic figure by `figure`. The parts of a latency, and energy
/// at the analytic power, follow in proportion; without an interval the
/// analytic one does too. Of memory, what exceeds the least is cache. Figures
/// may be put in any order.
void PutFigure(const LearnedFigure& figure, Prediction& prediction);

/// What a user of the figure on `device` should know of it.
void WarnOf(const LearnedFigure& figure, const DeviceSpec& device,
            std::vector<std::string>& warnings);

}  // namespace foretell::learned
