#include "datasets/views/split.h"

#include <algorithm>
#include <set>
#include <utility>

#include "datasets/collect/order.h"
#include "src/core/failure.h"
#include "src/core/name_table.h"

namespace foretell::dataset {
namespace {

constexpr NameTable<3> kNames = {"random", "configuration", "family"};

/// Points that must not be separated, by their common name.
using Groups = std::map<std::string, std::vector<RowId>>;

/// Deals groups out in the order of their hash: first those that begin within
/// the share `train` of all points, then within `validation`, then the rest.
void Deal(const Groups& groups, std::uint64_t seed, double train,
          double validation, std::map<RowId, std::string>& parts) {
  std::vector<std::pair<double, const Groups::value_type*>> order;
  double total = 0;
  for (const auto& group : groups) {
    order.emplace_back(UnitHash(group.first, seed), &group);
    total += static_cast<double>(group.second.size());
  }
  std::ranges::sort(order, {}, [](const auto& entry) {
    return std::pair(entry.first, entry.second->first);
  });
  double before = 0;
  for (const auto& [hash, group] : order) {
    const double share = before / total;
    const char* part = share < train                ? "train"
                       : share < train + validation ? "validation"
                                                    : "test";
    for (const RowId id : group->second) parts[id] = part;
    before += static_cast<double>(group->second.size());
  }
}

void CheckFamily(const std::vector<StoredPoint>& points,
                 const std::string& family) {
  const std::vector<std::string> families = FamiliesOf(points);
  if (std::ranges::find(families, family) != families.end()) return;
  std::string there;
  for (const std::string& name : families) {
    there += (there.empty() ? "" : ", ") + name;
  }
  throw NotFound("no family '{}'; there are: {}", family, there);
}

}  // namespace

SplitKind ParseSplitKind(std::string_view name) {
  return RequireIn<SplitKind>(kNames, name, "split kind");
}

std::vector<std::string> FamiliesOf(const std::vector<StoredPoint>& points) {
  std::set<std::string> families;
  for (const StoredPoint& stored : points) {
    if (stored.graph != 0) families.insert(stored.point.family);
  }
  return {families.begin(), families.end()};
}

std::map<RowId, std::string> MakeSplit(const std::vector<StoredPoint>& points,
                                       SplitKind kind, std::uint64_t seed,
                                       const std::string& family) {
  if (kind == SplitKind::kFamily) CheckFamily(points, family);
  std::map<RowId, std::string> parts;
  Groups groups;
  for (const StoredPoint& stored : points) {
    if (stored.graph == 0) continue;
    if (kind == SplitKind::kFamily && stored.point.family == family) {
      parts[stored.id] = "test";
      continue;
    }
    const bool alone = kind == SplitKind::kRandom;
    groups[alone ? ToString(stored.point) : stored.point.model].push_back(
        stored.id);
  }
  if (kind == SplitKind::kFamily) {
    const double train = kTrainShare / (kTrainShare + kValidationShare);
    Deal(groups, seed, train, 1 - train + 1e-9, parts);
  } else {
    Deal(groups, seed, kTrainShare, kValidationShare, parts);
  }
  return parts;
}

}  // namespace foretell::dataset
