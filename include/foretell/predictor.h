#pragma once

#include <optional>
#include <string>
#include <vector>

#include "foretell/cost.h"
#include "foretell/device.h"
#include "foretell/graph.h"
#include "foretell/memory.h"
#include "foretell/mig.h"

namespace foretell {

/// A range that is meant to hold the true value.
struct Interval {
  double lo = 0;
  double hi = 0;
};

/// How much of a graph the predictor knows, as shares from 0 to 1. An empty
/// graph is covered entirely.
struct Coverage {
  double operators = 1;  ///< Share of the operators.
  double macs = 1;       ///< Share of the multiply-accumulates.
  double bytes = 1;      ///< Share of the bytes that operators move.
  /// ATen names of operators of unknown kind, sorted, each once.
  std::vector<std::string> unknown_operators;
};

/// How one figure came about.
struct FigureSource {
  std::string method = "analytic, uncalibrated";
  /// Devices whose measurements it was learned from; empty: none was.
  std::vector<std::string> trained_on = {};
  /// How unlike the graph is to those learned from; about 1 for one like them.
  std::optional<double> distance = {};
  /// 99 % of the graphs learned from have a smaller distance.
  std::optional<double> far_distance = {};
};

/// What one step of a network needs on a whole device.
struct Prediction {
  std::string device;       ///< DeviceSpec::name.
  std::string environment;  ///< Environment::name.
  FigureSource memory_source;
  FigureSource latency_source;
  FigureSource energy_source;
  /// The methods in one line, once where they are the same.
  std::string Method() const;

  MemoryBreakdown memory;  ///< Bytes, with the parts of the total.
  Interval memory_mib;     ///< Range of memory.total, in MiB.

  CostEstimate cost;  ///< Per operator, and how the latency divides.
  double latency_ms = 0;
  Interval latency_interval_ms;
  double energy_j = 0;
  Interval energy_interval_j;

  Coverage coverage;
  std::vector<std::string> warnings;  ///< Sentences for the user.
};

/// Settings of Predictor::Analytic.
struct AnalyticOptions {
  bool with_workspaces = true;  ///< As MemoryOptions.
  CachingAllocatorConfig allocator = {};
  CostOptions cost = {};
};

/// Predicts what a graph takes on one device. A value; safe to use from
/// several threads.
class Predictor {
 public:
  /// Allocator simulation, rooflines and a power model, with constants from
  /// published measurements but not fitted to any whole network. Throws
  /// Error(kInvalidArgument) for a device that EstimateCost would refuse.
  static Predictor Analytic(const DeviceSpec& device,
                            const Environment& environment,
                            const AnalyticOptions& options = {});

  /// Throws what SimulateMemory and EstimateCost throw.
  Prediction Predict(const OperatorGraph& graph) const;

  const DeviceSpec& device() const { return device_; }
  const Environment& environment() const { return environment_; }

 private:
  Predictor(DeviceSpec device, Environment environment,
            AnalyticOptions options);

  DeviceSpec device_;
  Environment environment_;
  AnalyticOptions options_;
};

/// The prediction as mig::Recommend takes it; `model` names it in reports.
mig::Demand ToDemand(const Prediction& prediction, std::string model = {});

}  // namespace foretell
