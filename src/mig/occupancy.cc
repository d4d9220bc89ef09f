#include "src/mig/occupancy.h"

#include <algorithm>
#include <cstddef>

#include "src/core/failure.h"

namespace foretell::mig {
namespace {

std::uint32_t SlotMask(const MigProfile& profile, int start) {
  return ((std::uint32_t{1} << profile.memory_slots) - 1) << start;
}

/// Whether a profile with as many compute slices makes do with less memory.
bool IsDoubleMemory(const DeviceSpec& device, const MigProfile& profile) {
  return std::any_of(device.mig_profiles.begin(), device.mig_profiles.end(),
                     [&profile](const MigProfile& other) {
                       return other.compute_slices == profile.compute_slices &&
                              other.memory_slots < profile.memory_slots;
                     });
}

}  // namespace

bool Occupancy::CanPlace(const MigProfile& profile, int start) const {
  return (slots_ & SlotMask(profile, start)) == 0 &&
         slices_ + profile.compute_slices <= device_->compute_slices &&
         !(has_media_ && profile.media_extensions);
}

void Occupancy::Place(const MigProfile& profile, int start) {
  slots_ |= SlotMask(profile, start);
  slices_ += profile.compute_slices;
  has_media_ = has_media_ || profile.media_extensions;
}

void Occupancy::Remove(const MigProfile& profile, int start) {
  slots_ &= ~SlotMask(profile, start);
  slices_ -= profile.compute_slices;
  // Only one instance can have set it.
  if (profile.media_extensions) has_media_ = false;
}

bool Occupancy::HasRoomForAny(const std::vector<int>& profiles) const {
  for (const int index : profiles) {
    const MigProfile& profile =
        device_->mig_profiles[static_cast<std::size_t>(index)];
    for (const int start : profile.placements) {
      if (CanPlace(profile, start)) return true;
    }
  }
  return false;
}

std::vector<int> SelectProfiles(const DeviceSpec& device,
                                const LayoutOptions& options) {
  if (device.mig_profiles.empty()) {
    throw Unsupported("'{}' has no MIG", device.name);
  }
  std::vector<int> selected;
  for (std::size_t i = 0; i < device.mig_profiles.size(); ++i) {
    const MigProfile& profile = device.mig_profiles[i];
    if (profile.media_extensions && !options.media_extensions) continue;
    if (!options.double_memory && IsDoubleMemory(device, profile)) continue;
    selected.push_back(static_cast<int>(i));
  }
  return selected;
}

}  // namespace foretell::mig
