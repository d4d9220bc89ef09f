#include "src/features/input_recipe.h"

#include <cmath>

#include "src/core/name_table.h"

namespace foretell::learned {
namespace {

constexpr NameTable<3> kEdgeNames = {"data-flow", "chain", "none"};

}  // namespace

std::string_view EdgeKindName(EdgeKind kind) {
  return NameIn(kEdgeNames, kind);
}

std::optional<EdgeKind> ParseEdgeKind(std::string_view name) {
  return FindIn<EdgeKind>(kEdgeNames, name);
}

std::vector<std::string> InputRecipe::SettingKeys() const {
  std::vector<std::string> keys;
  for (const InputColumn& column : columns) {
    if (column.key.source != ColumnSource::kSetting) continue;
    // Columns of one field are adjacent.
    if (keys.empty() || keys.back() != column.key.key) {
      keys.push_back(column.key.key);
    }
  }
  return keys;
}

double InputRecipe::FactorOf(const TargetValues& priors, Target target) const {
  const bool corrects = !prior.empty() && !AveragesPrior();
  return corrects ? ValueOf(priors, target) : 1;
}

double InputRecipe::Combine(double learned, const TargetValues& priors,
                            Target target) const {
  return AveragesPrior() ? std::sqrt(learned * ValueOf(priors, target))
                         : learned;
}

std::vector<ColumnKey> KeysOf(const std::vector<InputColumn>& columns) {
  std::vector<ColumnKey> keys;
  for (const InputColumn& column : columns) keys.push_back(column.key);
  return keys;
}

Run RunAsLearned(const Run& run, const InputRecipe& recipe) {
  Run learned = run;
  learned.host = recipe.host;
  learned.restore_folded_norms = recipe.restore_folded_norms;
  learned.power_limit_w.reset();
  return learned;
}

}  // namespace foretell::learned
