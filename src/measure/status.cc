#include <array>
#include <utility>

#include "foretell/measure.h"

namespace foretell {
namespace {

constexpr std::array<std::pair<std::string_view, MeasureStatus>, 7> kStatuses =
    {{
        {"ok", MeasureStatus::kOk},
        {"out_of_memory", MeasureStatus::kOutOfMemory},
        {"mig_unsupported", MeasureStatus::kMigUnsupported},
        {"illegal_address", MeasureStatus::kIllegalAddress},
        {"deadline", MeasureStatus::kDeadline},
        {"crashed", MeasureStatus::kCrashed},
        {"failed", MeasureStatus::kFailed},
    }};

}  // namespace

std::string_view MeasureStatusName(MeasureStatus status) {
  for (const auto& [name, value] : kStatuses) {
    if (value == status) return name;
  }
  return "";
}

std::optional<MeasureStatus> ParseMeasureStatus(std::string_view name) {
  for (const auto& [candidate, value] : kStatuses) {
    if (candidate == name) return value;
  }
  return std::nullopt;
}

}  // namespace foretell
