#include "cli/print/print_devices.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/text_table.h"

namespace foretell::cli {

std::string FormatDevicesTable(const DeviceCatalog& catalog) {
  TextTable devices({"device", "name", "SMs", "memory MiB", "GB/s",
                     "fp32 TFLOP/s", "fp16 TFLOP/s", "W", "MIG profiles"});
  for (const DeviceSpec& device : catalog.devices()) {
    devices.AddRow({device.name, device.display_name,
                    fmt::format("{}", device.sms),
                    fmt::format("{}", device.memory_mib),
                    FormatSignificant(device.bandwidth_gb_s),
                    FormatSignificant(device.peak_tflops.at(Precision::kFp32)),
                    FormatSignificant(device.peak_tflops.at(Precision::kFp16)),
                    FormatSignificant(device.max_power_w),
                    fmt::format("{}", device.mig_profiles.size())});
  }
  TextTable environments({"environment", "context MiB", "±", "description"});
  for (const ContextModel& context : catalog.contexts()) {
    const auto fallback = context.context_mib.find("*");
    const bool is_default = &context == &catalog.DefaultContext();
    environments.AddRow(
        {fmt::format("{}{}", context.name, is_default ? " (default)" : ""),
         fallback == context.context_mib.end()
             ? ""
             : FormatSignificant(fallback->second),
         FormatSignificant(context.context_uncertainty_mib),
         context.description});
  }
  return devices.ToString() + "\n" + environments.ToString();
}

std::string FormatDevicesJson(const DeviceCatalog& catalog) {
  auto devices = nlohmann::ordered_json::array();
  for (const DeviceSpec& device : catalog.devices()) {
    nlohmann::ordered_json peaks;
    for (const auto& [precision, tflops] : device.peak_tflops) {
      peaks[std::string(PrecisionName(precision))] = tflops;
    }
    devices.push_back({{"name", device.name},
                       {"display_name", device.display_name},
                       {"architecture", device.architecture},
                       {"sms", device.sms},
                       {"memory_mib", device.memory_mib},
                       {"bandwidth_gb_s", device.bandwidth_gb_s},
                       {"peak_tflops", peaks},
                       {"max_power_w", device.max_power_w},
                       {"mig_profiles", device.mig_profiles.size()}});
  }
  auto environments = nlohmann::ordered_json::array();
  for (const ContextModel& context : catalog.contexts()) {
    environments.push_back(
        {{"name", context.name},
         {"description", context.description},
         {"context_mib", context.context_mib},
         {"context_full_sms", context.context_full_sms},
         {"context_mib_per_sm", context.context_mib_per_sm},
         {"cudnn_mib", context.cudnn_mib},
         {"cublas_handle_mib", context.cublas_handle_mib},
         {"uncertainty_mib", context.context_uncertainty_mib},
         {"default", &context == &catalog.DefaultContext()},
         {"source", context.source}});
  }
  return DumpJson({{"schema_version", 1},
                   {"devices", devices},
                   {"environments", environments}}) +
         "\n";
}

}  // namespace foretell::cli
