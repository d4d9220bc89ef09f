#include "cli/print/progress_bar.h"

#include <unistd.h>

#include <iostream>

#include "src/core/numbers.h"
#include "src/core/printable.h"

namespace foretell::cli {
namespace {

constexpr int kBarWidth = 20;
constexpr std::size_t kNameWidth = 40;
constexpr std::chrono::milliseconds kRedraw(100);

std::string Duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) {
    return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) +
           " s";
  }
  return std::to_string(whole / 3600) + " h " +
         std::to_string(whole % 3600 / 60) + " min";
}

}  // namespace

ProgressBar::ProgressBar()
    : shown_(isatty(STDERR_FILENO) == 1), started_(Clock::now()) {}

ProgressBar::~ProgressBar() {
  if (shown_) std::cerr << "\r\033[K" << std::flush;
}

void ProgressBar::Show(std::int64_t done, std::int64_t total,
                       std::int64_t failed, const std::string& current) {
  const Clock::time_point now = Clock::now();
  if (!shown_ || (done < total && now - drawn_ < kRedraw)) return;
  drawn_ = now;
  const std::chrono::duration<double> passed = now - started_;
  std::cerr << "\r\033[K"
            << ProgressLine(done, total, failed, passed.count(), current)
            << std::flush;
}

std::string ProgressLine(std::int64_t done, std::int64_t total,
                         std::int64_t failed, double seconds,
                         const std::string& current) {
  const double share =
      total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
  const auto filled = static_cast<std::size_t>(share * kBarWidth);
  std::string line = "[" + std::string(filled, '#') +
                     std::string(kBarWidth - filled, '.') + "] ";
  line += std::to_string(done) + "/" + std::to_string(total) + "  " +
          std::to_string(static_cast<int>(share * 100)) + " %";
  if (done > 0 && seconds > 0) {
    const double rate = static_cast<double>(done) / seconds;
    line += "  " + FormatNumber(rate, 1) + "/s  " +
            Duration(static_cast<double>(total - done) / rate) + " left";
  }
  if (failed > 0) line += "  " + std::to_string(failed) + " failed";
  return line + "  " + Printable(current.substr(0, kNameWidth));
}

}  // namespace foretell::cli
