// Words of the dataset's enumerations, and how points and damage are spelt.

#include <array>

#include "foretell/dataset.h"

namespace foretell {
namespace {

constexpr std::array<std::string_view, 3> kPointStatusNames = {
    "traced", "failed", "untraced"};
constexpr std::array<std::string_view, 3> kProvenanceNames = {
    "measured", "simulated", "imported"};
constexpr std::array<std::string_view, 3> kLabelStatusNames = {
    "ok", "out_of_memory", "failed"};

}  // namespace

std::string_view PointStatusName(PointStatus status) {
  return kPointStatusNames.at(static_cast<std::size_t>(status));
}

std::string_view ProvenanceName(Provenance provenance) {
  return kProvenanceNames.at(static_cast<std::size_t>(provenance));
}

std::optional<Provenance> ParseProvenance(std::string_view name) {
  for (std::size_t i = 0; i < kProvenanceNames.size(); ++i) {
    if (kProvenanceNames[i] == name) return static_cast<Provenance>(i);
  }
  return std::nullopt;
}

std::string_view LabelStatusName(LabelStatus status) {
  return kLabelStatusNames.at(static_cast<std::size_t>(status));
}

std::vector<LabelQuantity> LabelQuantities() {
  return {{"memory_mib", &Label::memory_mib},
          {"allocated_mib", &Label::allocated_mib},
          {"reserved_mib", &Label::reserved_mib},
          {"latency_ms", &Label::latency_ms},
          {"energy_j", &Label::energy_j}};
}

bool SamePoint(const Point& a, const Point& b) {
  return a.model == b.model && a.batch == b.batch && a.mode == b.mode &&
         a.precision == b.precision && a.optimizer == b.optimizer;
}

std::string ToString(const Point& point) {
  std::string text = point.model + " batch=" + std::to_string(point.batch);
  text.append(" ").append(ModeName(point.mode));
  text.append(" ").append(PrecisionName(point.precision));
  return point.optimizer.empty() ? text : text + " " + point.optimizer;
}

std::string ToString(const Damage& damage) {
  if (damage.row == 0) return damage.table + ": " + damage.what;
  return damage.table + " row " + std::to_string(damage.row) + ": " +
         damage.what;
}

}  // namespace foretell
