#include "src/measure/timed_runs.h"

namespace foretell::measure {

std::vector<double> TimeRuns(const std::function<void()>& step,
                             DeviceBackend& device, Clock& clock,
                             const MeasureOptions& options) {
  for (int run = 0; run < options.warmup_runs; ++run) step();
  device.Synchronize();
  std::vector<double> times_ms;
  const std::size_t min_runs = static_cast<std::size_t>(options.min_runs);
  const double start_s = clock.NowS();
  while (times_ms.size() < min_runs ||
         clock.NowS() - start_s < options.min_seconds) {
    times_ms.push_back(device.TimeMs(step));
  }
  return times_ms;
}

}  // namespace foretell::measure
