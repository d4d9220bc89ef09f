#include "src/measure/nvml.h"

#include <fmt/core.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "src/measure/nvml_functions.h"
#include "src/measure/shared_library.h"

namespace foretell::measure {
namespace {

constexpr std::size_t kTextSize = 96;  ///< NVML_DEVICE_NAME_V2_BUFFER_SIZE.
constexpr unsigned kMaxProcesses = 4096;

constexpr std::array<std::pair<std::uint64_t, const char*>, 9> kReasons = {{
    {0x001, "gpu_idle"},
    {0x002, "application_clocks"},
    {0x004, "power_cap"},
    {0x008, "hw_slowdown"},
    {0x010, "sync_boost"},
    {0x020, "sw_thermal"},
    {0x040, "hw_thermal"},
    {0x080, "hw_power_brake"},
    {0x100, "display_clocks"},
}};

template <typename Function>
void Find(const SharedLibrary& library, Function*& function, const char* name) {
  function = library.Find<Function>(name);
}

NvmlFunctions FindFunctions(const SharedLibrary& library) {
  NvmlFunctions f = {};
  Find(library, f.init, "nvmlInit_v2");
  Find(library, f.error_string, "nvmlErrorString");
  Find(library, f.driver_version, "nvmlSystemGetDriverVersion");
  Find(library, f.handle_by_uuid, "nvmlDeviceGetHandleByUUID");
  Find(library, f.name, "nvmlDeviceGetName");
  Find(library, f.is_mig, "nvmlDeviceIsMigDeviceHandle");
  Find(library, f.memory_info, "nvmlDeviceGetMemoryInfo");
  Find(library, f.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  Find(library, f.total_energy, "nvmlDeviceGetTotalEnergyConsumption");
  Find(library, f.clock, "nvmlDeviceGetClockInfo");
  Find(library, f.max_clock, "nvmlDeviceGetMaxClockInfo");
  Find(library, f.temperature, "nvmlDeviceGetTemperature");
  Find(library, f.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  Find(library, f.throttle_reasons,
       "nvmlDeviceGetCurrentClocksThrottleReasons");
  if (f.throttle_reasons == nullptr) {  // Its name since driver 535.
    Find(library, f.throttle_reasons, "nvmlDeviceGetCurrentClocksEventReasons");
  }
  return f;
}

/// Empty when `function` succeeds with `arguments`, else why not.
template <typename Function, typename... Arguments>
std::string NvmlFailure(const NvmlFunctions& functions, const char* name,
                        Function* function, Arguments... arguments) {
  const std::string prefix = fmt::format("NVML: {}: ", name);
  if (function == nullptr) return prefix + "not in this library";
  const NvmlReturn status = function(arguments...);
  if (status == kNvmlSuccess) return "";
  if (functions.error_string == nullptr) {
    return fmt::format("{}error {}", prefix, status);
  }
  return prefix + functions.error_string(status);
}

Reading<int> Count(const std::string& failure, unsigned value) {
  if (!failure.empty()) return Reading<int>::Missing(failure);
  return Reading<int>::Of(static_cast<int>(value));
}

Reading<std::int64_t> Amount(const std::string& failure,
                             unsigned long long value) {
  if (!failure.empty()) return Reading<std::int64_t>::Missing(failure);
  return Reading<std::int64_t>::Of(static_cast<std::int64_t>(value));
}

Reading<std::string> Text(const std::string& failure, const char* text) {
  if (!failure.empty()) return Reading<std::string>::Missing(failure);
  return Reading<std::string>::Of(text);
}

std::string Hexadecimal(std::uint64_t bits) {
  std::ostringstream text;
  text << "0x" << std::hex << bits;
  return text.str();
}

std::vector<std::string> NamesOf(std::uint64_t bits) {
  std::vector<std::string> names;
  for (const auto& [bit, name] : kReasons) {
    if ((bits & bit) != 0) names.emplace_back(name);
    bits &= ~bit;
  }
  if (bits != 0) names.push_back(Hexadecimal(bits));
  return names;
}

}  // namespace

std::string NvmlLibraryPath(const std::string& option) {
  if (!option.empty()) return option;
  const char* const variable = std::getenv("FORETELL_NVML");
  if (variable != nullptr && *variable != '\0') return variable;
  return "libnvidia-ml.so.1";
}

Reading<NvmlDevice> NvmlDevice::Open(const std::string& path,
                                     const std::string& uuid) {
  const Reading<SharedLibrary> library = SharedLibrary::Open(path);
  if (!library.value) {
    return Reading<NvmlDevice>::Missing("NVML: " + library.reason);
  }
  const auto functions =
      std::make_shared<const NvmlFunctions>(FindFunctions(*library.value));
  std::string failure = NvmlFailure(*functions, "nvmlInit_v2", functions->init);
  if (!failure.empty()) return Reading<NvmlDevice>::Missing(failure);
  void* handle = nullptr;
  failure = NvmlFailure(*functions, "nvmlDeviceGetHandleByUUID",
                        functions->handle_by_uuid, uuid.c_str(), &handle);
  if (!failure.empty()) {
    return Reading<NvmlDevice>::Missing(fmt::format("{} ({})", failure, uuid));
  }
  return Reading<NvmlDevice>::Of(NvmlDevice(functions, handle));
}

Reading<std::string> NvmlDevice::Driver() const {
  std::array<char, kTextSize> text = {};
  return Text(NvmlFailure(*functions_, "nvmlSystemGetDriverVersion",
                          functions_->driver_version, text.data(),
                          static_cast<unsigned>(text.size())),
              text.data());
}

Reading<std::string> NvmlDevice::Name() const {
  std::array<char, kTextSize> text = {};
  return Text(
      NvmlFailure(*functions_, "nvmlDeviceGetName", functions_->name, handle_,
                  text.data(), static_cast<unsigned>(text.size())),
      text.data());
}

Reading<bool> NvmlDevice::IsMig() const {
  unsigned is_mig = 0;
  const std::string failure =
      NvmlFailure(*functions_, "nvmlDeviceIsMigDeviceHandle",
                  functions_->is_mig, handle_, &is_mig);
  if (!failure.empty()) return Reading<bool>::Missing(failure);
  return Reading<bool>::Of(is_mig != 0);
}

Reading<std::int64_t> NvmlDevice::UsedBytes() const {
  NvmlMemory memory = {};
  const std::string failure =
      NvmlFailure(*functions_, "nvmlDeviceGetMemoryInfo",
                  functions_->memory_info, handle_, &memory);
  return Amount(failure, memory.used);
}

Reading<std::int64_t> NvmlDevice::ProcessBytes(int pid) const {
  using Result = Reading<std::int64_t>;
  constexpr char kName[] = "nvmlDeviceGetComputeRunningProcesses_v3";
  std::vector<NvmlProcess> processes(kMaxProcesses);
  unsigned count = kMaxProcesses;
  const std::string failure =
      NvmlFailure(*functions_, kName, functions_->processes, handle_, &count,
                  processes.data());
  if (!failure.empty()) return Result::Missing(failure);
  processes.resize(count);
  for (const NvmlProcess& process : processes) {
    if (process.pid != static_cast<unsigned>(pid)) continue;
    if (process.used_bytes == ~0ULL) {
      return Result::Missing(
          fmt::format("NVML: {}: does not tell the size", kName));
    }
    return Result::Of(static_cast<std::int64_t>(process.used_bytes));
  }
  return Result::Missing(
      fmt::format("NVML: {}: does not list this process", kName));
}

Reading<std::int64_t> NvmlDevice::EnergyMillijoules() const {
  unsigned long long millijoules = 0;
  const std::string failure =
      NvmlFailure(*functions_, "nvmlDeviceGetTotalEnergyConsumption",
                  functions_->total_energy, handle_, &millijoules);
  return Amount(failure, millijoules);
}

Reading<int> NvmlDevice::SmClockMhz() const {
  unsigned mhz = 0;
  const std::string failure =
      NvmlFailure(*functions_, "nvmlDeviceGetClockInfo", functions_->clock,
                  handle_, kNvmlClockSm, &mhz);
  return Count(failure, mhz);
}

Reading<int> NvmlDevice::MaxSmClockMhz() const {
  unsigned mhz = 0;
  const std::string failure =
      NvmlFailure(*functions_, "nvmlDeviceGetMaxClockInfo",
                  functions_->max_clock, handle_, kNvmlClockSm, &mhz);
  return Count(failure, mhz);
}

Reading<int> NvmlDevice::MemoryClockMhz() const {
  unsigned mhz = 0;
  const std::string failure =
      NvmlFailure(*functions_, "nvmlDeviceGetClockInfo", functions_->clock,
                  handle_, kNvmlClockMemory, &mhz);
  return Count(failure, mhz);
}

Reading<int> NvmlDevice::TemperatureC() const {
  unsigned celsius = 0;
  const std::string failure = NvmlFailure(
      *functions_, "nvmlDeviceGetTemperature", functions_->temperature, handle_,
      kNvmlTemperatureGpu, &celsius);
  return Count(failure, celsius);
}

Reading<double> NvmlDevice::PowerLimitW() const {
  unsigned milliwatts = 0;
  const std::string failure =
      NvmlFailure(*functions_, "nvmlDeviceGetEnforcedPowerLimit",
                  functions_->power_limit, handle_, &milliwatts);
  if (!failure.empty()) return Reading<double>::Missing(failure);
  return Reading<double>::Of(milliwatts / 1000.0);
}

Reading<std::vector<std::string>> NvmlDevice::ThrottleReasons() const {
  using Result = Reading<std::vector<std::string>>;
  unsigned long long bits = 0;
  const std::string failure =
      NvmlFailure(*functions_, "nvmlDeviceGetCurrentClocksThrottleReasons",
                  functions_->throttle_reasons, handle_, &bits);
  if (!failure.empty()) return Result::Missing(failure);
  return Result::Of(NamesOf(bits));
}

}  // namespace foretell::measure
