#include "src/features/terms.h"

#include <algorithm>

namespace foretell::learned {

static_assert(std::ranges::all_of(kTermSets, [](const TermSetRow& row) {
  return &RowOf(row.set) == &row;
}));

std::optional<TermSet> ParseTermSet(std::string_view name) {
  const auto* row = std::ranges::find(kTermSets, name, &TermSetRow::name);
  if (row == kTermSets.end()) return std::nullopt;
  return row->set;
}

}  // namespace foretell::learned
