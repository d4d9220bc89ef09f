#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

namespace foretell {

/// A point in time after which waiting ends.
class Deadline {
 public:
  /// Never comes.
  Deadline() = default;
  /// `seconds` from now; 0 has passed already.
  static Deadline In(double seconds) {
    Deadline deadline;
    if (std::isfinite(seconds)) deadline.seconds_ = seconds;
    return deadline;
  }

  bool HasPassed() const { return RemainingSeconds() <= 0; }

  /// Timeout for poll: milliseconds that remain, rounded up, at most `most`.
  int PollMilliseconds(int most) const {
    const double remaining = std::ceil(1e3 * std::max(RemainingSeconds(), 0.0));
    return remaining < most ? static_cast<int>(remaining) : most;
  }

 private:
  using Clock = std::chrono::steady_clock;

  double RemainingSeconds() const {
    const std::chrono::duration<double> passed = Clock::now() - begin_;
    return seconds_ - passed.count();
  }

  Clock::time_point begin_ = Clock::now();
  double seconds_ = INFINITY;
};

}  // namespace foretell
