#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "src/measure/energy_counter.h"
#include "src/measure/energy_window.h"

namespace foretell::measure {

/// Time that passes only when somebody sleeps or works.
class FakeClock final : public Clock {
 public:
  double NowS() override { return now_s_; }
  void SleepS(double seconds) override { now_s_ += seconds; }
  void Advance(double seconds) { now_s_ += seconds; }

 private:
  double now_s_ = 0;
};

/// A device that draws `idle_w` and, while it works, `busy_w`, with a counter
/// that shows its energy as it was at the last multiple of `step_s`.
class FakeDevice final : public EnergyCounter {
 public:
  FakeDevice(FakeClock& clock, double idle_w, double busy_w, double step_s)
      : clock_(clock), idle_w_(idle_w), busy_w_(busy_w), step_s_(step_s) {}

  Reading<double> ReadJ() override {
    ++reads_;
    if (reads_ > fail_after_reads) return Reading<double>::Missing("unplugged");
    Settle();
    return Reading<double>::Of(offset_j + shown_j_);
  }
  std::string source() const override { return "fake"; }

  /// Work whose every run takes `run_s`.
  EnergyWork Work(double run_s) {
    return {.run =
                [this, run_s](std::int64_t runs) {
                  for (std::int64_t run = 0; run < runs; ++run) {
                    Settle();
                    const double end_s = clock_.NowS() + run_s;
                    clock_.Advance(run_s);
                    Draw(end_s, busy_w_);
                    ++runs_;
                  }
                },
            .run_s = run_s};
  }
  std::int64_t runs() const { return runs_; }

  double offset_j = 1e6;
  int fail_after_reads = 1 << 30;

 private:
  /// The device idled since anybody last looked.
  void Settle() { Draw(clock_.NowS(), idle_w_); }

  /// Draws `watts` up to `end_s` and lets the counter catch up at each step.
  void Draw(double end_s, double watts) {
    for (; NextStepS() <= end_s; ++next_step_) {
      DrawUntil(NextStepS(), watts);
      shown_j_ = drawn_j_;
    }
    DrawUntil(end_s, watts);
  }
  void DrawUntil(double until_s, double watts) {
    drawn_j_ += watts * (until_s - drawn_until_s_);
    drawn_until_s_ = until_s;
  }
  double NextStepS() const { return static_cast<double>(next_step_) * step_s_; }

  FakeClock& clock_;
  double idle_w_;
  double busy_w_;
  double step_s_;
  std::int64_t next_step_ = 1;
  double drawn_until_s_ = 0;
  double drawn_j_ = 0;
  double shown_j_ = 0;
  std::int64_t runs_ = 0;
  std::int64_t reads_ = 0;
};

}  // namespace foretell::measure
