#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>

#include "cli/commands/command.h"
#include "cli/flags/model_options.h"
#include "cli/print/print_devices.h"

namespace foretell::cli {

void AddDevices(CLI::App& app, ExitCode& exit_code) {
  struct Options {
    DeviceFlags device;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("devices", "List known GPUs and environments");
  command->footer("docs/adding_a_device.md explains how to add one.");
  command->add_option("--device-file", options->device.device_files,
                      "JSON file that adds a device");
  command->add_option("--environment-file", options->device.environment_files,
                      "JSON file that adds environments");
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->callback([options, &exit_code] {
    const DeviceCatalog catalog = options->device.Catalog();
    std::cout << (options->json ? FormatDevicesJson(catalog)
                                : FormatDevicesTable(catalog));
    exit_code = kExitOk;
  });
}

}  // namespace foretell::cli
