#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace foretell::cli {

/// "[####······]  4210/10508  40 %  38.2/s  2 min 45 s left  3 failed  name",
/// redrawn in place on stderr if that is a terminal, else a new line now and
/// then.
class ProgressBar {
 public:
  /// Draws nothing unless `is_shown`. Without a terminal, lines are at least
  /// `line_every` apart.
  explicit ProgressBar(
      bool is_shown = true,
      std::chrono::milliseconds line_every = std::chrono::seconds(30));
  /// Wipes the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Redraws at most ten times a second, and at the end. Without a terminal the
  /// end has no line, because results follow it.
  void Show(std::int64_t done, std::int64_t total, std::int64_t failed,
            const std::string& current);
  /// Redraws at once, without a rate, because stages differ in duration; only
  /// on a terminal.
  void ShowStage(std::int64_t done, std::int64_t total,
                 const std::string& current);

 private:
  void Draw(const std::string& line);

  using Clock = std::chrono::steady_clock;
  bool shown_;
  bool on_terminal_;
  std::chrono::milliseconds line_every_;
  Clock::time_point started_;
  Clock::time_point drawn_;
};

/// Wipes the line of a visible ProgressBar so that other lines can be printed;
/// it is drawn again when there is something new to show.
void WipeProgress();

/// The line that ProgressBar draws after `seconds`, without control characters.
std::string ProgressLine(std::int64_t done, std::int64_t total,
                         std::int64_t failed, double seconds,
                         const std::string& current);

}  // namespace foretell::cli
