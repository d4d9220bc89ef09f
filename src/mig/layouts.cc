// Enumeration of MIG layouts.
//
// Depth first over the memory slots from left to right: at each slot either
// nothing starts, or one of the profiles that may start there and still fits.
// A layout is a sequence of such choices, so every layout comes up exactly
// once and no set of seen layouts is needed. An A100 has 722 layouts (297
// without the double-memory profile, 19 of them maximal); the limit below is
// for files that describe a stranger device.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "foretell/mig.h"
#include "src/core/failure.h"
#include "src/mig/occupancy.h"

namespace foretell::mig {
namespace {

constexpr std::size_t kMaxLayouts = 1'000'000;

const MigProfile& ProfileAt(const DeviceSpec& device, int index) {
  return device.mig_profiles[static_cast<std::size_t>(index)];
}

class Enumerator {
 public:
  Enumerator(const DeviceSpec& device, const LayoutOptions& options,
             bool maximal_only)
      : device_(device),
        profiles_(SelectProfiles(device, options)),
        maximal_only_(maximal_only),
        occupancy_(device) {}

  std::vector<Layout> Run() {
    VisitSlot(0);
    std::sort(layouts_.begin(), layouts_.end(), ComesBefore);
    return std::move(layouts_);
  }

 private:
  static bool ComesBefore(const Layout& a, const Layout& b) {
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(),
        [](const PlacedInstance& x, const PlacedInstance& y) {
          return x.start != y.start ? x.start < y.start : x.profile < y.profile;
        });
  }

  void VisitSlot(int slot) {
    if (slot >= device_.memory_slots) {
      Emit();
      return;
    }
    VisitSlot(slot + 1);
    for (const int index : profiles_) {
      const MigProfile& profile = ProfileAt(device_, index);
      if (std::ranges::count(profile.placements, slot) == 0) continue;
      if (!occupancy_.CanPlace(profile, slot)) continue;
      occupancy_.Place(profile, slot);
      current_.push_back({index, slot});
      VisitSlot(slot + profile.memory_slots);
      current_.pop_back();
      occupancy_.Remove(profile, slot);
    }
  }

  void Emit() {
    if (current_.empty()) return;
    if (maximal_only_ && occupancy_.HasRoomForAny(profiles_)) return;
    if (layouts_.size() >= kMaxLayouts) {
      throw Unsupported("'{}' has more than {} MIG layouts", device_.name,
                        kMaxLayouts);
    }
    layouts_.push_back(current_);
  }

  const DeviceSpec& device_;
  const std::vector<int> profiles_;
  const bool maximal_only_;
  Occupancy occupancy_;
  Layout current_;
  std::vector<Layout> layouts_;
};

std::int64_t CountMultisets(const std::vector<Layout>& layouts) {
  std::set<std::vector<int>> multisets;
  for (const Layout& layout : layouts) {
    std::vector<int> profiles;
    for (const PlacedInstance& instance : layout) {
      profiles.push_back(instance.profile);
    }
    std::sort(profiles.begin(), profiles.end());
    multisets.insert(std::move(profiles));
  }
  return static_cast<std::int64_t>(multisets.size());
}

}  // namespace

std::vector<Layout> EnumerateLayouts(const DeviceSpec& device,
                                     const LayoutOptions& options) {
  return Enumerator(device, options, /*maximal_only=*/false).Run();
}

std::vector<Layout> MaximalLayouts(const DeviceSpec& device,
                                   const LayoutOptions& options) {
  return Enumerator(device, options, /*maximal_only=*/true).Run();
}

std::vector<Layout> LayoutsWith(const DeviceSpec& device,
                                std::span<const Layout> layouts,
                                std::span<const std::string> names) {
  std::map<int, std::int64_t> wanted;
  for (const std::string& name : names) {
    const MigProfile& profile = device.FindMigProfile(name);
    ++wanted[static_cast<int>(&profile - device.mig_profiles.data())];
  }
  std::vector<Layout> found;
  std::ranges::copy_if(
      layouts, std::back_inserter(found), [&](const Layout& layout) {
        return std::ranges::all_of(wanted, [&](const auto& want) {
          return std::ranges::count(layout, want.first,
                                    &PlacedInstance::profile) >= want.second;
        });
      });
  return found;
}

LayoutCounts CountLayouts(const DeviceSpec& device,
                          const LayoutOptions& options) {
  const std::vector<Layout> all = EnumerateLayouts(device, options);
  const std::vector<Layout> maximal = MaximalLayouts(device, options);
  LayoutCounts counts;
  counts.layouts = static_cast<std::int64_t>(all.size());
  counts.multisets = CountMultisets(all);
  counts.maximal_layouts = static_cast<std::int64_t>(maximal.size());
  counts.maximal_multisets = CountMultisets(maximal);
  return counts;
}

}  // namespace foretell::mig
