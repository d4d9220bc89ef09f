#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>
#include <string>

#include "cli/commands/command.h"
#include "cli/flags/model_options.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/text_table.h"
#include "src/predict/report_json.h"

namespace foretell::cli {
namespace {

std::string FormatText(const DeviceCatalog& catalog) {
  TextTable devices({"device", "name", "SMs", "memory MiB", "GB/s",
                     "fp32 TFLOP/s", "fp16 TFLOP/s", "W", "MIG profiles"});
  for (const DeviceSpec& device : catalog.devices()) {
    devices.AddRow({device.name, device.display_name,
                    std::to_string(device.sms),
                    std::to_string(device.memory_mib),
                    FormatSignificant(device.bandwidth_gb_s),
                    FormatSignificant(device.peak_tflops.at(Precision::kFp32)),
                    FormatSignificant(device.peak_tflops.at(Precision::kFp16)),
                    FormatSignificant(device.max_power_w),
                    std::to_string(device.mig_profiles.size())});
  }
  TextTable environments({"environment", "context MiB", "±", "description"});
  for (const ContextModel& context : catalog.contexts()) {
    const auto fallback = context.context_mib.find("*");
    const bool is_default = &context == &catalog.DefaultContext();
    environments.AddRow({context.name + (is_default ? " (default)" : ""),
                         fallback == context.context_mib.end()
                             ? ""
                             : FormatSignificant(fallback->second),
                         FormatSignificant(context.context_uncertainty_mib),
                         context.description});
  }
  return devices.ToString() + "\n" + environments.ToString();
}

std::string FormatJson(const DeviceCatalog& catalog) {
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
         {"uncertainty_mib", context.context_uncertainty_mib},
         {"default", &context == &catalog.DefaultContext()},
         {"source", context.source}});
  }
  return DumpJson({{"schema_version", 1},
                   {"devices", devices},
                   {"environments", environments}}) +
         "\n";
}

}  // namespace

void AddDevices(CLI::App& app, ExitCode& exit_code) {
  struct Options {
    DeviceFlags device;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("devices", "GPUs and environments that are known");
  command->footer("docs/adding_a_device.md says how to add one.");
  command->add_option("--device-file", options->device.device_files,
                      "JSON file of a further device");
  command->add_option("--environment-file", options->device.environment_files,
                      "JSON file of further environments");
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->callback([options, &exit_code] {
    const DeviceCatalog catalog = options->device.Catalog();
    std::cout << (options->json ? FormatJson(catalog) : FormatText(catalog));
    exit_code = kExitOk;
  });
}

}  // namespace foretell::cli
