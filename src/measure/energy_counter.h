#pragma once

#include <string>

#include "src/measure/reading.h"

namespace foretell::measure {

/// A meter that only counts up, in steps.
class EnergyCounter {
 public:
  virtual ~EnergyCounter() = default;
  /// Joules since some fixed moment.
  virtual Reading<double> ReadJ() = 0;
  /// Where it reads: "nvml", "rapl".
  virtual std::string source() const = 0;
};

/// Time as the energy window sees it; tests bring their own.
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
