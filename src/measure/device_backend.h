#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <vector>

#include "foretell/measure.h"
#include "src/measure/energy_counter.h"

namespace foretell::measure {

/// Interface to a device for measurements; implemented for CUDA and the CPU.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;

  virtual c10::Device device() const = 0;
  /// Releases cached memory and resets peaks.
  virtual void ResetPeaks() = 0;
  /// Performs `run` and returns the milliseconds that the device took,
  /// waiting for it to finish.
  virtual double TimeMs(const std::function<void()>& run) = 0;
  /// Waits until all submitted work is done.
  virtual void Synchronize() = 0;

  /// Peaks since ResetPeaks and the current memory of the process.
  virtual MeasuredMemory Memory(std::vector<MeasureNote>& notes) = 0;
  virtual DeviceState State(std::vector<MeasureNote>& notes) = 0;
  /// Hardware and driver; software flags come from LibTorch.
  virtual void Describe(MeasureEnvironment& environment,
                        std::vector<MeasureNote>& notes) = 0;
  /// The device's energy counter, valid as long as this object, or the reason
  /// why it has none.
  virtual Reading<EnergyCounter*> Energy() = 0;
};

/// Starts the device that `request` names. Throws Error(kInvalidArgument) for a
/// name that is not a device's, Error(kNotFound) for an absent one, and what
/// LibTorch throws when it does not start.
std::unique_ptr<DeviceBackend> StartDevice(const MeasureRequest& request);

}  // namespace foretell::measure
