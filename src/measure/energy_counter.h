#pragma once

#include <string>

#include "src/measure/reading.h"

namespace foretell::measure {

/// A monotonic energy counter that advances in steps.
class EnergyCounter {
 public:
  virtual ~EnergyCounter() = default;
  /// Joules since a fixed time.
  virtual Reading<double> ReadJ() = 0;
  /// Source of readings: "nvml", "rapl".
  virtual std::string source() const = 0;
};

/// Clock of the energy window; tests provide a fake one.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual double NowS() = 0;
  virtual void SleepS(double seconds) = 0;
};

/// The monotonic clock of the system.
class SystemClock final : public Clock {
 public:
  double NowS() override;
  void SleepS(double seconds) override;
};

}  // namespace foretell::measure
