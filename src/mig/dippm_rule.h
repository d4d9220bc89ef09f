#pragma once

#include <optional>
#include <string>

#include "foretell/device.h"

namespace foretell::mig {

/// The profile that DIPPM's thresholds give a network of `total_mib` (its
/// predicted memory on 7g.40gb); empty from 40 GB on. Throws
/// Error(kUnsupported) unless `device` has the four profiles.
std::optional<std::string> DippmProfile(double total_mib,
                                        const DeviceSpec& device);

/// The interval of the thresholds that holds `total_mib`, as text.
std::string DippmReason(double total_mib);

}  // namespace foretell::mig
