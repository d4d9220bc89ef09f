// Stands in for libnvidia-ml.so.1. FAKE_NVML chooses how it behaves:
//
//   (unset)  a whole GPU that answers everything
//   mig      a MIG instance: no energy, clocks, temperature or power
//   broken   does not initialise
//   foreign  does not know the device
//   strange  answers, but lists no process of ours and unknown throttle bits
//
// The energy counter moves by 30 J every third reading, so that two readings
// out of three see no change.

#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

#include "src/measure/nvml_functions.h"

namespace {

using foretell::measure::NvmlMemory;
using foretell::measure::NvmlProcess;
using foretell::measure::NvmlReturn;

constexpr NvmlReturn kOk = 0;
constexpr NvmlReturn kNotSupported = 3;
constexpr NvmlReturn kNotFound = 6;
constexpr NvmlReturn kUnknown = 999;
constexpr unsigned long long kMiB = 1 << 20;

bool Is(std::string_view behaviour) {
  const char* const chosen = std::getenv("FAKE_NVML");
  return chosen != nullptr && behaviour == chosen;
}

NvmlReturn Number(unsigned* to, unsigned value) {
  if (Is("mig")) return kNotSupported;
  *to = value;
  return kOk;
}

NvmlReturn Text(char* to, unsigned size, const char* text) {
  std::strncpy(to, text, size);
  return kOk;
}

}  // namespace

extern "C" {

NvmlReturn nvmlInit_v2() { return Is("broken") ? kUnknown : kOk; }

const char* nvmlErrorString(NvmlReturn status) {
  if (status == kNotSupported) return "Not Supported";
  return status == kNotFound ? "Not Found" : "Unknown Error";
}

NvmlReturn nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return Text(text, size, "580.65.06");
}

NvmlReturn nvmlDeviceGetHandleByUUID(const char*, void** device) {
  static int the_device;
  if (Is("foreign")) return kNotFound;
  *device = &the_device;
  return kOk;
}

NvmlReturn nvmlDeviceGetName(void*, char* text, unsigned size) {
  return Text(text, size, "Fake GPU");
}

NvmlReturn nvmlDeviceIsMigDeviceHandle(void*, unsigned* is_mig) {
  *is_mig = Is("mig") ? 1 : 0;
  return kOk;
}

NvmlReturn nvmlDeviceGetMemoryInfo(void*, NvmlMemory* memory) {
  *memory = {40960 * kMiB, 40000 * kMiB, 960 * kMiB};
  return kOk;
}

NvmlReturn nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count,
                                                   NvmlProcess* processes) {
  if (Is("mig")) return kNotSupported;
  processes[0] = {1, 100 * kMiB, 0, 0};
  const bool strange = Is("strange");
  processes[1] = {strange ? 2u : static_cast<unsigned>(getpid()), 512 * kMiB, 0,
                  0};
  processes[2] = {3, ~0ULL, 0, 0};
  *count = 3;
  return kOk;
}

NvmlReturn nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* mj) {
  static unsigned long long readings = 0;
  if (Is("mig")) return kNotSupported;
  *mj = 5'000'000 + readings++ / 3 * 30'000;
  return kOk;
}

NvmlReturn nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* mhz) {
  return Number(mhz, type == foretell::measure::kNvmlClockSm ? 1410 : 1215);
}

NvmlReturn nvmlDeviceGetMaxClockInfo(void*, unsigned, unsigned* mhz) {
  return Number(mhz, 1980);
}

NvmlReturn nvmlDeviceGetTemperature(void*, unsigned, unsigned* celsius) {
  return Number(celsius, 43);
}

// No nvmlDeviceGetEnforcedPowerLimit: an old library lacks functions.

NvmlReturn nvmlDeviceGetCurrentClocksEventReasons(void*,
                                                  unsigned long long* bits) {
  if (Is("mig")) return kNotSupported;
  *bits = Is("strange") ? 0x10004 : 0x24;
  return kOk;
}

}  // extern "C"
