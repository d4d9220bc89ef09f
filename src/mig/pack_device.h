#pragma once

#include <optional>
#include <span>
#include <vector>

#include "foretell/device.h"
#include "foretell/mig.h"

namespace foretell::mig {

/// Indices of the profiles that a job may use, ascending.
using ProfileSet = std::vector<int>;

/// Placement of the jobs of one device.
struct DeviceAssignment {
  std::vector<PlacedInstance> instances;  ///< One per job, in their order.
  int compute_slices = 0;
  int memory_slots = 0;
};

/// The valid layout with one instance per job and the fewest compute slices,
/// then the fewest memory slots; empty if there is none. Exact. Equal sets
/// should be adjacent: their jobs are then recognised as interchangeable.
///
/// Cost: at most 2^jobs x slots x slices states, far fewer with equal sets.
std::optional<DeviceAssignment> PackDevice(const DeviceSpec& device,
                                           std::span<const ProfileSet> jobs);

}  // namespace foretell::mig
