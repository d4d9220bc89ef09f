#pragma once

#include <cstdint>
#include <vector>

#include "foretell/device.h"
#include "foretell/mig.h"

namespace foretell::mig {

/// Resources used by the instances placed on a device.
///
/// The only implementation of the placement rules: slots must not overlap,
/// compute slices must not run out, and one instance at most has media
/// extensions.
class Occupancy {
 public:
  explicit Occupancy(const DeviceSpec& device) : device_(&device) {}

  /// Whether `profile` may start at `start`, one of its placements.
  bool CanPlace(const MigProfile& profile, int start) const;
  /// Requires CanPlace.
  void Place(const MigProfile& profile, int start);
  /// Undoes Place.
  void Remove(const MigProfile& profile, int start);
  /// Whether any of `profiles` (indices) can be placed anywhere.
  bool HasRoomForAny(const std::vector<int>& profiles) const;

 private:
  const DeviceSpec* device_;
  std::uint32_t slots_ = 0;  ///< Bit i: memory slot i is taken.
  int slices_ = 0;
  bool has_media_ = false;
};

/// Indices of the profiles that take part. Throws Error(kUnsupported) when the
/// device has no MIG.
std::vector<int> SelectProfiles(const DeviceSpec& device,
                                const LayoutOptions& options);

}  // namespace foretell::mig
