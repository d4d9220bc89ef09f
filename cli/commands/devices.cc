#include <CLI/CLI.hpp>

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands/command.h"
#include "cli/flags/model_options.h"
#include "cli/flags/number_checks.h"
#include "cli/print/print_devices.h"
#include "src/core/files.h"
#include "src/core/output_file.h"
#include "src/device/describe_gpu.h"

namespace foretell::cli {
namespace {

constexpr char kAddExamples[] =
    "Examples:\n"
    "  nvidia-smi -q > gpu.txt\n"
    "  foretell devices add --from-nvidia-smi gpu.txt --out gpu.json\n"
    "  foretell predict model.onnx --device-file gpu.json --device NAME";

struct AddOptions {
  std::string from;
  std::string out;
  device::GpuFacts facts;
  std::optional<double> memory_mib;
};

void WriteDeviceFile(AddOptions options) {
  if (options.memory_mib) {
    options.facts.memory_mib = static_cast<std::int64_t>(*options.memory_mib);
  }
  const std::string text = device::DeviceToJson(device::DescribeGpu(
      device::ReadNvidiaSmi(ReadText(options.from), options.from),
      options.facts, DeviceCatalog::BuiltIn()));
  DeviceCatalog catalog = DeviceCatalog::BuiltIn();
  catalog.AddDevice(text, options.from);  // Refuses what --device-file would.
  if (options.out.empty()) {
    std::cout << text;
  } else {
    WriteWhole(options.out, text);
  }
}

void AddAdd(CLI::App& devices, ExitCode& exit_code) {
  auto options = std::make_shared<AddOptions>();
  CLI::App* command = devices.add_subcommand(
      "add", "Write the --device-file of a GPU from what nvidia-smi states");
  command->footer(kAddExamples);
  command
      ->add_option("--from-nvidia-smi", options->from,
                   "Output of nvidia-smi -q, or of --query-gpu with "
                   "--format=csv")
      ->required();
  command->add_option("--sms", options->facts.sms, "Streaming multiprocessors")
      ->check(AboveZero());
  command
      ->add_option("--bandwidth", options->facts.bandwidth_gb_s,
                   "Peak bandwidth of its memory, GB/s")
      ->check(AboveZero());
  command
      ->add_option("--memory", options->memory_mib,
                   "Memory: MiB, or a number with a unit")
      ->transform(SizeInMib());
  command->add_option("--power", options->facts.power_w, "Power limit, W")
      ->check(AboveZero());
  command->add_option("--out", options->out, "File to write; default: stdout");
  command->callback([options, &exit_code] {
    WriteDeviceFile(*options);
    exit_code = kExitOk;
  });
}

}  // namespace

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
  AddAdd(*command, exit_code);
  command->callback([command, options, &exit_code] {
    if (!command->get_subcommands().empty()) return;
    const DeviceCatalog catalog = options->device.Catalog();
    std::cout << (options->json ? FormatDevicesJson(catalog)
                                : FormatDevicesTable(catalog));
    exit_code = kExitOk;
  });
}

}  // namespace foretell::cli
