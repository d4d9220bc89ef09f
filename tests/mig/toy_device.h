#pragma once

#include "foretell/device.h"
#include "tests/cost/test_device.h"

namespace foretell::mig {

/// A device without MIG: 4096 MiB, 4000 of them usable.
inline DeviceSpec DeviceWithoutMig() {
  DeviceSpec device;
  device.name = "plain";
  device.sms = 20;
  device.memory_mib = 4096;
  device.usable_mib = 4000;
  return device;
}

using test::A100;

inline const DeviceSpec& A30() {
  return DeviceCatalog::BuiltIn().FindDevice("a30");
}

}  // namespace foretell::mig
