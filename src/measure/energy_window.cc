// Energy of one run, from a counter that moves in steps.
//
// The problem: NVML's energy counter moves about every 100 ms (RAPL's every
// millisecond), its sensor may look at a part of each step only, and a run can
// be much shorter or much longer than a step. The difference of two arbitrary
// readings is wrong by up to a step at each end.
//
// The choice: work runs back to back, and a window begins and ends at moments
// at which the counter was just seen to move. With E and N the energy and the
// runs between both moments, a run costs E / N joules; what is left is the
// uncertainty of one look at each end, at most 1 / steps of the result. A
// window is full once it is long enough (min_window_s) *and* holds enough
// steps. A run longer than a step hides steps; how many went by then follows
// from the length of a step, which an idle window shows before any work. That
// window also yields the idle draw, which is stored separately and never
// subtracted.
//
// A sensor that looks at a quarter of each step meets the same part of a run
// again and again when both periods are alike. So every further window begins
// at another phase: the work pauses for a further share of a step. The spread
// over the windows shows how much that mattered.
//
// Rejected: power readings times latency. NVML's power is a moving average over
// up to a second, and sampling it misses peaks.

#include "src/measure/energy_window.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace foretell::measure {
namespace {

/// Looks per step while working; a look costs some microseconds.
constexpr double kLooksPerStep = 10;
/// Step length that is assumed until one was seen, seconds.
constexpr double kAssumedStepS = 0.1;
/// Pause between two looks at an idle device, seconds.
constexpr double kIdleLookS = 0.001;

/// A moment at which the counter was seen to move.
struct Edge {
  double time_s = 0;
  double energy_j = 0;
  std::int64_t runs = 0;  ///< Since the meter began.
  /// Steps of the counter since the start of the window.
  std::int64_t moves = 0;
};

/// Bounds of a window.
struct WindowBounds {
  double min_s = 0;
  std::int64_t min_steps = 1;  ///< Steps of the counter.
  double max_s = 0;            ///< Seconds from now until it has to be full.
  double step_s = 0;           ///< Time of a step; 0: not known.
};

struct Window {
  double seconds = 0;
  double energy_j = 0;
  std::int64_t runs = 0;
  std::int64_t steps = 0;
};

/// Looks at the counter between pieces of work.
class Meter {
 public:
  using Work = std::function<std::int64_t()>;  ///< Returns the runs it made.

  Meter(EnergyCounter& counter, Clock& clock)
      : counter_(counter), clock_(clock) {}

  /// A window between two edges. False, with reason(), when it is not full in
  /// time.
  bool Fill(const Work& work, const WindowBounds& bounds, Window& window) {
    const double deadline_s = clock_.NowS() + bounds.max_s;
    const Reading<double> start = counter_.ReadJ();
    if (!start.value) return Fail(start.reason);
    last_j_ = *start.value;
    moves_ = 0;
    Edge first;
    if (!NextEdge(work, deadline_s, first)) return false;
    Edge last = first;
    do {
      if (!NextEdge(work, deadline_s, last)) return false;
      window = Between(first, last, bounds.step_s);
    } while (window.seconds < bounds.min_s || window.steps < bounds.min_steps);
    return true;
  }

  const std::string& reason() const { return reason_; }

 private:
  /// Works until the counter has moved.
  bool NextEdge(const Work& work, double deadline_s, Edge& edge) {
    while (clock_.NowS() < deadline_s) {
      runs_ += work();
      const Reading<double> now = counter_.ReadJ();
      if (!now.value) return Fail(now.reason);
      if (*now.value < last_j_) return Fail("the counter went backwards");
      if (*now.value == last_j_) continue;
      last_j_ = *now.value;
      edge = {clock_.NowS(), *now.value, runs_, ++moves_};
      return true;
    }
    return Fail(moves_ == 0 ? "the counter did not move"
                            : "the counter moved too slowly for the window");
  }

  static Window Between(const Edge& first, const Edge& last, double step_s) {
    const double seconds = last.time_s - first.time_s;
    const std::int64_t passed =
        step_s > 0 ? static_cast<std::int64_t>(std::floor(seconds / step_s))
                   : 0;
    return {seconds, last.energy_j - first.energy_j, last.runs - first.runs,
            std::max(passed, last.moves - first.moves)};
  }

  bool Fail(const std::string& reason) {
    reason_ = reason;
    return false;
  }

  EnergyCounter& counter_;
  Clock& clock_;
  std::int64_t runs_ = 0;
  std::int64_t moves_ = 0;  ///< In the present window.
  double last_j_ = 0;
  std::string reason_;
};

MeasuredEnergy Summarize(const std::vector<Window>& windows, const Window& idle,
                         const std::string& source) {
  Window total;
  double smallest = INFINITY;
  double largest = 0;
  double sum = 0;
  for (const Window& window : windows) {
    total.seconds += window.seconds;
    total.energy_j += window.energy_j;
    total.runs += window.runs;
    total.steps += window.steps;
    const double per_run = window.energy_j / static_cast<double>(window.runs);
    smallest = std::min(smallest, per_run);
    largest = std::max(largest, per_run);
    sum += per_run;
  }
  const double mean = sum / static_cast<double>(windows.size());
  return {.energy_j = mean,
          .relative_spread = (largest - smallest) / mean,
          .power_w = total.energy_j / total.seconds,
          .idle_power_w = idle.energy_j / idle.seconds,
          .window_s = total.seconds,
          .counter_steps = total.steps,
          .runs = total.runs,
          .source = source};
}

}  // namespace

MeasuredEnergy MeasureEnergy(const EnergyWork& work, EnergyCounter& counter,
                             Clock& clock, const EnergyOptions& options,
                             std::vector<MeasureNote>& notes) {
  const auto not_measured = [&](const std::string& why) {
    notes.push_back({"energy", why});
    return MeasuredEnergy{};
  };
  Meter meter(counter, clock);
  const Meter::Work rest = [&clock]() -> std::int64_t {
    clock.SleepS(kIdleLookS);
    return 0;
  };
  Window idle;
  if (!meter.Fill(
          rest, {.min_s = options.idle_window_s, .max_s = options.max_window_s},
          idle)) {
    return not_measured(meter.reason());
  }
  const double step_s = idle.seconds / static_cast<double>(idle.steps);

  const double look_s = std::min(step_s, kAssumedStepS) / kLooksPerStep;
  const std::int64_t runs_per_look =
      std::max<std::int64_t>(1, std::llround(look_s / work.run_s));
  const Meter::Work busy = [&work, runs_per_look] {
    work.run(runs_per_look);
    return runs_per_look;
  };
  std::vector<Window> windows(static_cast<std::size_t>(options.repeats));
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    clock.SleepS(step_s * repeat / options.repeats);
    Window& window = windows[static_cast<std::size_t>(repeat)];
    if (!meter.Fill(busy,
                    {.min_s = options.min_window_s,
                     .min_steps = options.min_counter_steps,
                     .max_s = options.max_window_s,
                     .step_s = step_s},
                    window)) {
      return not_measured(meter.reason());
    }
  }
  return Summarize(windows, idle, counter.source());
}

}  // namespace foretell::measure
