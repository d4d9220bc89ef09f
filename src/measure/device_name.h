#pragma once

#include <string>

namespace foretell::measure {

enum class DeviceKind { kCpu, kCuda, kMig };

/// A device named by the user.
struct DeviceName {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;  ///< Number of the GPU; 0 for kMig, whose process sees only
                  ///< that instance.
  std::string mig_uuid;  ///< "MIG-…"; empty for other kinds.
};

/// Parses "cpu", "cuda" (device 0), "cuda:1" and "MIG-…"; throws
/// Error(kInvalidArgument) that quotes `text`.
DeviceName ParseDeviceName(const std::string& text);

}  // namespace foretell::measure
