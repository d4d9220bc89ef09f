#pragma once

#include <optional>
#include <string>
#include <vector>

#include "foretell/predictor.h"
#include "src/network/checkpoint.h"

namespace foretell::learned {

/// What a network says of one graph.
struct LearnedFigure {
  Target target = Target::kMemory;
  double value = 0;  ///< MiB, ms or J.
  std::optional<Interval> interval;
  FigureSource source;

  /// Says how far the graph is from those learned from; requires a distance.
  std::string FarText() const;
};

/// Whether every label that it was trained on was simulated.
bool IsOnlySimulated(const CheckpointInfo& info);

/// "learned from …" or "learned from simulated labels of …", with the devices
/// of the labels.
FigureSource SourceOf(const CheckpointInfo& info,
                      std::optional<double> distance);

/// Throws Error(kCorrupt) that begins with `origin`, a checkpoint's name, where
/// the figure or an end of its interval is no number from 1e-6 to 1e9: no step
/// of a network takes so little or so much.
void RefuseImplausible(const LearnedFigure& figure, const std::string& origin);

/// Puts the figure in the place of the analytic one. The parts of a latency,
/// and energy at the analytic power, follow in proportion; without an interval
/// the analytic one does too. Figures may be put in any order.
void PutFigure(const LearnedFigure& figure, Prediction& prediction);

/// What a user of the figure on `device` should know of it.
void WarnOf(const LearnedFigure& figure, const DeviceSpec& device,
            std::vector<std::string>& warnings);

}  // namespace foretell::learned
