#include "training/samples/sample_parts.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/views/split.h"

namespace foretell::training {
namespace {

/// Splits that are made if the dataset has none of that name.
constexpr std::array<std::string_view, 2> kMadeSplits = {"random",
                                                         "configuration"};
constexpr std::uint64_t kSplitSeed = 0;

std::map<RowId, std::string> PartsOf(const Selection& selection) {
  const std::string& name = selection.options.split;
  const std::vector<std::string> stored = selection.dataset.SplitNames();
  const bool made = std::ranges::find(stored, name) == stored.end() &&
                    std::ranges::find(kMadeSplits, name) != kMadeSplits.end();
  return made ? dataset::MakeSplit(selection.points,
                                   dataset::ParseSplitKind(name), kSplitSeed)
              : selection.dataset.Split(name);
}

}  // namespace

void AddParts(Selection& selection) {
  if (selection.options.split.empty()) {
    for (Draft& draft : selection.drafts) draft.sample.part = Part::kTrain;
    return;
  }
  const std::map<RowId, std::string> parts = PartsOf(selection);
  for (Draft& draft : selection.drafts) {
    const auto found = parts.find(draft.sample.point);
    if (found != parts.end()) draft.sample.part = ParsePart(found->second);
  }
}

}  // namespace foretell::training
