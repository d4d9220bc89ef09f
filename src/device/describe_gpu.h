#pragma once

#include <cstdint>
#include <optional>

#include "foretell/device.h"
#include "src/device/nvidia_smi.h"

namespace foretell::device {

/// Figures of a GPU that nvidia-smi may not state; empty: not given.
struct GpuFacts {
  std::optional<int> sms;
  std::optional<double> bandwidth_gb_s;
  std::optional<std::int64_t> memory_mib;
  std::optional<double> power_w;
};

/// The device that `gpu` is: with the figures of the built-in one that has its
/// name and memory, else with those of the nearest card of its compute
/// capability or architecture, rates and L2 cache in proportion to the
/// multiprocessors. `facts` precede both. DeviceSpec::sources state which.
///
/// Throws Error(kInvalidArgument) that lists every figure that is missing, with
/// its flag of `foretell devices add`.
DeviceSpec DescribeGpu(const SmiGpu& gpu, const GpuFacts& facts,
                       const DeviceCatalog& catalog);

/// The text of a file that ReadDevice reads as `device`.
std::string DeviceToJson(const DeviceSpec& device);

}  // namespace foretell::device
