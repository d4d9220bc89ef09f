#pragma once

#include <span>
#include <string>
#include <vector>

#include "foretell/correction.h"
#include "foretell/device.h"
#include "foretell/graph.h"
#include "foretell/run.h"

namespace foretell {

/// A step that was measured on a GPU.
struct DeviceRow {
  OperatorGraph graph;
  Run run;
  double measured_ms = 0;  ///< > 0.
  bool held_out = false;   ///< Judges the fit and is no part of it.
};

/// A device and its host, as the cost model knows them.
struct DeviceConstants {
  DeviceSpec device;
  double host_factor = 1;  ///< HostSpec::factor.
};

/// A constant that was fitted.
struct FittedConstant {
  std::string name;  ///< "host factor", or the field of the device's file.
  double before = 0;
  double after = 0;
};

/// What rows say of a device.
struct DeviceFit {
  DeviceConstants found;
  std::vector<FittedConstant> constants;
  int held_out = 0;  ///< Rows that the errors are of; all if none is held out.
  RowErrors before;  ///< With the constants that the fit began with.
  RowErrors after;
};

/// Milliseconds of the step on `constants`; errors as EstimateCost.
double PredictMs(const DeviceRow& row, const DeviceConstants& constants);

/// Fits the host factor, launch_us, reached_bandwidth_gb_s and matmul_tflops of
/// every precision of `rows`: least squares on logarithms of predicted over
/// measured, robust (weights of a Cauchy distribution) and drawn weakly to
/// `start`, one constant after the other until none moves. Each is found by the
/// rows that depend on it: thin chains of short kernels wait for the host,
/// medium ones for launches, wide ones for memory, products for the rates.
///
/// Throws Error(kInvalidArgument) for fewer rows to fit than constants, and
/// what EstimateCost throws.
DeviceFit FitDevice(std::span<const DeviceRow> rows,
                    const DeviceConstants& start);

}  // namespace foretell
