#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/measure/reading.h"

namespace foretell::measure {

struct NvmlFunctions;

/// The library to open for the option `nvml_library` of a measurement: itself,
/// else the environment variable FORETELL_NVML, else libnvidia-ml.so.1.
std::string NvmlLibraryPath(const std::string& option);

/// One GPU or MIG instance as reported by NVIDIA's management library.
///
/// Every query may fail: the library may be too old, the instance may not
/// support it, a container may not allow it. The reason then names the failed
/// function and its error.
class NvmlDevice {
 public:
  /// The device with the UUID "GPU-…" or "MIG-…". Opens and initialises the
  /// library at `library`.
  static Reading<NvmlDevice> Open(const std::string& library,
                                  const std::string& uuid);

  Reading<std::string> Driver() const;
  Reading<std::string> Name() const;
  Reading<bool> IsMig() const;
  /// Bytes in use on the whole device, by all processes.
  Reading<std::int64_t> UsedBytes() const;
  /// Bytes that the process `pid` holds on the device.
  Reading<std::int64_t> ProcessBytes(int pid) const;
  /// Total energy since the driver was loaded, millijoules.
  Reading<std::int64_t> EnergyMillijoules() const;
  Reading<int> SmClockMhz() const;
  Reading<int> MaxSmClockMhz() const;
  Reading<int> MemoryClockMhz() const;
  Reading<int> TemperatureC() const;
  Reading<double> PowerLimitW() const;
  /// Names of the current reasons for lowered clocks, in the order of their
  /// bits; unknown bits as hexadecimal numbers.
  Reading<std::vector<std::string>> ThrottleReasons() const;

 private:
  NvmlDevice(std::shared_ptr<const NvmlFunctions> functions, void* handle)
      : functions_(std::move(functions)), handle_(handle) {}

  std::shared_ptr<const NvmlFunctions> functions_;
  void* handle_;
};

}  // namespace foretell::measure
