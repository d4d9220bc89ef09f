#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foretell/device.h"

namespace foretell::device {

/// A context model as a file declares it.
struct DeclaredContext {
  ContextModel context;
  bool is_default = false;
};

/// Reads a device file (docs/devices.md); throws Error(kCorrupt) that names
/// `origin`, the field, its value and what was expected.
DeviceSpec ReadDevice(std::string_view json, std::string_view origin);

/// Reads a file of environments; errors as ReadDevice.
std::vector<DeclaredContext> ReadContexts(std::string_view json,
                                          std::string_view origin);

/// Checks constraints between fields of a device: slices, slots, placements and
/// memory of the profiles. Errors as ReadDevice.
void CheckConsistency(const DeviceSpec& device, std::string_view origin);

/// Most instances of `profile` alone that the placements and slices of `device`
/// allow.
int MaxPlaceable(const DeviceSpec& device, const MigProfile& profile);

}  // namespace foretell::device
