#pragma once

#include <optional>
#include <string_view>

namespace foretell::training {

/// How the learning rate changes over a run.
enum class Schedule {
  kConstant,
  kCosine,  ///< Half a wave down to 0 at the end.
};
std::string_view ScheduleName(Schedule schedule);  ///< "constant", "cosine".
std::optional<Schedule> ParseSchedule(std::string_view name);

/// Factor of the learning rate, in [0, 1], at `epoch` (with its fraction) of
/// `epochs`. It rises linearly over the first `warmup` epochs.
double ScheduleFactor(Schedule schedule, double epoch, double epochs,
                      double warmup);

}  // namespace foretell::training
