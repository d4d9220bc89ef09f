#include "training/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace foretell::training {
namespace {

constexpr std::array<std::string_view, 2> kScheduleNames = {"constant",
                                                            "cosine"};

}  // namespace

std::string_view ScheduleName(Schedule schedule) {
  return kScheduleNames.at(static_cast<std::size_t>(schedule));
}

std::optional<Schedule> ParseSchedule(std::string_view name) {
  const auto* found = std::ranges::find(kScheduleNames, name);
  if (found == kScheduleNames.end()) return std::nullopt;
  return static_cast<Schedule>(found - kScheduleNames.begin());
}

double ScheduleFactor(Schedule schedule, double epoch, double epochs,
                      double warmup) {
  if (epoch < warmup) return epoch / warmup;
  if (schedule == Schedule::kConstant) return 1;
  const double share =
      std::clamp((epoch - warmup) / std::max(epochs - warmup, 1e-9), 0.0, 1.0);
  return (1 + std::cos(std::numbers::pi * share)) / 2;
}

}  // namespace foretell::training
