#pragma once

#include "foretell/device.h"
#include "foretell/mig.h"

namespace foretell::mig {

/// Time and energy of a batch.
struct SliceCost {
  double latency_ms = 0;
  double energy_j = 0;
};

/// `demand`, predicted for the whole of `device`, on an instance of `profile`;
/// formula at Recommend. Requires a demand that Recommend accepts.
SliceCost ScaleToSlice(const Demand& demand, const DeviceSpec& device,
                       const MigProfile& profile);

}  // namespace foretell::mig
