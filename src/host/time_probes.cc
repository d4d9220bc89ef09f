#include "src/host/time_probes.h"

#include <algorithm>
#include <ctime>

namespace foretell::host {
namespace {

constexpr double kUsPerSecond = 1e6;
constexpr double kNsPerUs = 1e3;

/// Microseconds per call of one batch.
double TimeBatch(const Probe& probe, const ClockUs& now_us, int calls) {
  const double start_us = now_us();
  for (int i = 0; i < calls; ++i) probe.call();
  return (now_us() - start_us) / calls;
}

}  // namespace

double ThreadTimeUs() {
  std::timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * kUsPerSecond +
         static_cast<double>(now.tv_nsec) / kNsPerUs;
}

std::vector<ProbeTime> TimeProbes(std::span<const Probe> probes,
                                  const ClockUs& now_us,
                                  const ProbeOptions& options) {
  std::vector<ProbeTime> times;
  for (const Probe& probe : probes) times.push_back(probe.what);
  for (int round = 0; round <= options.batches; ++round) {
    for (std::size_t i = 0; i < probes.size(); ++i) {
      const double us = TimeBatch(probes[i], now_us, options.calls);
      const bool is_first = round <= 1;  // The one before warmed up.
      times[i].us = is_first ? us : std::min(times[i].us, us);
    }
  }
  return times;
}

}  // namespace foretell::host
