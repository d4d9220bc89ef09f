#include "cli/print/print_plan.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "src/core/numbers.h"
#include "src/predict/report_json.h"

namespace foretell::cli {
namespace {

std::string UsableText(double usable, double memory) {
  return fmt::format("{} of {} MiB are usable", FormatNumber(usable, 1),
                     FormatNumber(memory, 1));
}

}  // namespace

std::string FormatPlannedModel(const PlannedModel& planned) {
  return fmt::format("{} {}{}\n{} on {} needs up to {} MiB; {}\n", planned.axis,
                     planned.value, planned.is_limit ? " (--limit)" : "",
                     planned.model, planned.place,
                     FormatNumber(planned.needed_mib, 1),
                     UsableText(planned.usable_mib, planned.memory_mib));
}

std::string SmallestDoesNotFit(const PlannedModel& planned) {
  return fmt::format("{}: {} {} needs up to {} MiB, and {}", planned.model,
                     planned.axis, planned.step,
                     FormatNumber(planned.needed_mib, 1),
                     UsableText(planned.usable_mib, planned.memory_mib));
}

nlohmann::ordered_json PlannedModelToJson(const PlannedModel& planned) {
  return {{"schema_version", kPlanSchemaVersion},
          {"model", planned.model},
          {"place", planned.place},
          {"axis", planned.axis},
          {"value", planned.value},
          {"step", planned.step},
          {"is_limit", planned.is_limit},
          {"needed_mib", RoundedForJson(planned.needed_mib)},
          {"memory_mib", RoundedForJson(planned.memory_mib)},
          {"usable_mib", RoundedForJson(planned.usable_mib)}};
}

}  // namespace foretell::cli
