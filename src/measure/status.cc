#include "foretell/measure.h"
#include "src/core/name_table.h"

namespace foretell {
namespace {

constexpr NameTable<7> kStatuses = {
    "ok",       "out_of_memory", "mig_unsupported", "illegal_address",
    "deadline", "crashed",       "failed"};

}  // namespace

std::string_view MeasureStatusName(MeasureStatus status) {
  return NameIn(kStatuses, status);
}

std::optional<MeasureStatus> ParseMeasureStatus(std::string_view name) {
  return FindIn<MeasureStatus>(kStatuses, name);
}

}  // namespace foretell
