// Words of the dataset's enumerations, and how points and damage are spelt.

#include <fmt/core.h>

#include "foretell/dataset.h"
#include "src/core/name_table.h"

namespace foretell {
namespace {

constexpr NameTable<3> kPointStatusNames = {"traced", "failed", "untraced"};
constexpr NameTable<3> kProvenanceNames = {"measured", "simulated", "imported"};
constexpr NameTable<3> kLabelStatusNames = {"ok", "out_of_memory", "failed"};

}  // namespace

std::string_view PointStatusName(PointStatus status) {
  return NameIn(kPointStatusNames, status);
}

std::string_view ProvenanceName(Provenance provenance) {
  return NameIn(kProvenanceNames, provenance);
}

std::optional<Provenance> ParseProvenance(std::string_view name) {
  return FindIn<Provenance>(kProvenanceNames, name);
}

std::string_view LabelStatusName(LabelStatus status) {
  return NameIn(kLabelStatusNames, status);
}

std::vector<LabelQuantity> LabelQuantities() {
  return {{"memory_mib", &Label::memory_mib},
          {"allocated_mib", &Label::allocated_mib},
          {"reserved_mib", &Label::reserved_mib},
          {"latency_ms", &Label::latency_ms},
          {"energy_j", &Label::energy_j}};
}

std::string ToString(const Point& point) {
  std::string text = fmt::format("{} batch={}", point.model, point.batch);
  text.append(" ").append(ModeName(point.mode));
  text.append(" ").append(PrecisionName(point.precision));
  return point.optimizer.empty() ? text
                                 : fmt::format("{} {}", text, point.optimizer);
}

std::string ToString(const Damage& damage) {
  if (damage.row == 0) return fmt::format("{}: {}", damage.table, damage.what);
  return fmt::format("{} row {}: {}", damage.table, damage.row, damage.what);
}

}  // namespace foretell
