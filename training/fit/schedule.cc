#include "training/fit/schedule.h"

#include "src/core/name_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace foretell::training {
namespace {

constexpr NameTable<2> kScheduleNames = {"constant", "cosine"};

}  // namespace

std::string_view ScheduleName(Schedule schedule) {
  return NameIn(kScheduleNames, schedule);
}

std::optional<Schedule> ParseSchedule(std::string_view name) {
  return FindIn<Schedule>(kScheduleNames, name);
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
