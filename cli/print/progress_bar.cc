#include "cli/print/progress_bar.h"

#include <fmt/core.h>
#include <unistd.h>

#include <iostream>

#include "src/core/numbers.h"
#include "src/core/printable.h"

namespace foretell::cli {
namespace {

constexpr int kBarWidth = 20;
constexpr std::size_t kNameWidth = 40;
constexpr std::chrono::milliseconds kRedraw(100);

bool line_stands = false;

std::string Duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

ProgressBar::ProgressBar(bool is_shown, std::chrono::milliseconds line_every)
    : shown_(is_shown),
      on_terminal_(isatty(STDERR_FILENO) == 1),
      line_every_(line_every),
      started_(Clock::now()),
      drawn_(on_terminal_ ? Clock::time_point() : started_) {}

ProgressBar::~ProgressBar() {
  if (shown_ && on_terminal_) WipeProgress();
}

void ProgressBar::Show(std::int64_t done, std::int64_t total,
                       std::int64_t failed, const std::string& current) {
  const Clock::time_point now = Clock::now();
  const bool is_due = on_terminal_
                          ? done >= total || now - drawn_ >= kRedraw
                          : done < total && now - drawn_ >= line_every_;
  if (!shown_ || !is_due) return;
  drawn_ = now;
  const std::chrono::duration<double> passed = now - started_;
  Draw(ProgressLine(done, total, failed, passed.count(), current));
}

void ProgressBar::ShowStage(std::int64_t done, std::int64_t total,
                            const std::string& current) {
  if (shown_ && on_terminal_) Draw(ProgressLine(done, total, 0, 0, current));
}

void ProgressBar::Draw(const std::string& line) {
  if (!on_terminal_) {
    std::cerr << line << std::endl;
    return;
  }
  std::cerr << "\r\033[K" << line << std::flush;
  line_stands = true;
}

void WipeProgress() {
  if (line_stands) std::cerr << "\r\033[K" << std::flush;
  line_stands = false;
}

std::string ProgressLine(std::int64_t done, std::int64_t total,
                         std::int64_t failed, double seconds,
                         const std::string& current) {
  const double share =
      total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
  const auto filled = static_cast<std::size_t>(share * kBarWidth);
  std::string line = fmt::format("[{}{}] {}/{}  {} %", std::string(filled, '#'),
                                 std::string(kBarWidth - filled, '.'), done,
                                 total, static_cast<int>(share * 100));
  if (done > 0 && seconds > 0) {
    const double rate = static_cast<double>(done) / seconds;
    line += fmt::format("  {}/s  {} left", FormatNumber(rate, 1),
                        Duration(static_cast<double>(total - done) / rate));
  }
  if (failed > 0) line += fmt::format("  {} failed", failed);
  return fmt::format("{}  {}", line, Printable(current.substr(0, kNameWidth)));
}

}  // namespace foretell::cli
