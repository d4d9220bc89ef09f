#include "foretell/figure.h"

#include "src/core/name_table.h"

namespace foretell {
namespace {

struct TargetRow {
  std::string_view name;
  std::string_view field;
  std::string_view unit;
};

constexpr std::array<TargetRow, kNumTargets> kTargets = {{
    {"memory", "memory_mib", "MiB"},
    {"latency", "latency_ms", "ms"},
    {"energy", "energy_j", "J"},
}};

const TargetRow& RowOf(Target target) {
  return kTargets.at(static_cast<std::size_t>(target));
}

}  // namespace

std::string_view TargetName(Target target) { return RowOf(target).name; }
std::string_view TargetField(Target target) { return RowOf(target).field; }
std::string_view TargetUnit(Target target) { return RowOf(target).unit; }

std::optional<Target> ParseTarget(std::string_view name) {
  for (const Target target : kAllTargets) {
    if (name == TargetName(target) || name == TargetField(target)) {
      return target;
    }
  }
  return std::nullopt;
}

}  // namespace foretell
