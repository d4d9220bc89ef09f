#pragma once

#include <algorithm>
#include <cstddef>

#include "foretell/mig.h"

namespace foretell::mig {

/// Whether NVIDIA's rules allow `layout`, by looking at its instances in pairs
/// instead of filling slots. Accepts any order of instances.
inline bool IsValid(const DeviceSpec& device, const Layout& layout) {
  int slices = 0, media = 0;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const auto profile_at = [&](std::size_t place) -> const MigProfile& {
      return device.mig_profiles.at(
          static_cast<std::size_t>(layout[place].profile));
    };
    const MigProfile& profile = profile_at(i);
    const int start = layout[i].start;
    if (std::ranges::count(profile.placements, start) == 0) return false;
    for (std::size_t j = 0; j < i; ++j) {
      const int other = layout[j].start;
      if (start < other + profile_at(j).memory_slots &&
          other < start + profile.memory_slots) {
        return false;
      }
    }
    slices += profile.compute_slices;
    media += profile.media_extensions ? 1 : 0;
  }
  return slices <= device.compute_slices && media <= 1;
}

}  // namespace foretell::mig
