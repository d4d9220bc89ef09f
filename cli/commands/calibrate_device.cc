#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands/command.h"
#include "cli/commands/device_rows.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/model_options.h"
#include "cli/print/print_adaptation.h"
#include "src/core/clock.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"
#include "src/core/text_table.h"
#include "src/device/describe_gpu.h"
#include "src/host/measured_host.h"

namespace foretell::cli {
namespace {

constexpr char kCalibrateDeviceExamples[] =
    "Examples:\n"
    "  foretell calibrate-device --gpu rtx-4090 --rows-out rows.csv \\\n"
    "      --out mine.json --host-out host.json\n"
    "  foretell predict model.onnx --device-file mine.json --device rtx-4090 "
    "\\\n"
    "      --host host.json\n"
    "  foretell calibrate-device --gpu rtx-4090 --rows rows.csv --out "
    "mine.json\n"
    "Every step is measured in a separate process: docs/calibrating_devices.md."
    "\nExit status 1: the held-out rows got worse, and nothing is written.";
constexpr char kSource[] = "foretell calibrate-device";

struct CalibrateDeviceCommand {
  std::string device = "cuda:0";
  DeviceFlags gpu;
  std::string rows;
  std::string simulate;
  std::string rows_out;
  std::string out;
  std::string host_out;
};

std::vector<TimedStep> StepsOf(const CalibrateDeviceCommand& command,
                               const DeviceCatalog& catalog) {
  if (!command.rows.empty()) return ReadTimedSteps(command.rows);
  if (!command.simulate.empty()) {
    return SimulateSuite({.device = catalog.FindDevice(command.simulate)});
  }
  return MeasureSuite(command.device, command.rows_out);
}

/// To the digits that a measurement has.
double Rounded(double value) { return std::stod(FormatShort(value, 4)); }

std::string FormatDeviceFit(const DeviceFit& fit, std::size_t rows) {
  TextTable table({"constant", "before", "after"});
  for (const FittedConstant& constant : fit.constants) {
    table.AddRow({constant.name, FormatSignificant(constant.before),
                  FormatSignificant(constant.after)});
  }
  table.AddRow({"error", ErrorsText(fit.before), ErrorsText(fit.after)});
  return fmt::format(
      "{}\n{} on {}; errors are medians / means of the {} that were held "
      "out\n",
      table.ToString(), Counted(rows, "row"), fit.found.device.name,
      fit.held_out);
}

std::string DeviceFileOf(const DeviceFit& fit, std::size_t rows) {
  DeviceSpec device = fit.found.device;
  device.launch_us = Rounded(device.launch_us);
  device.reached_bandwidth_gb_s = Rounded(device.reached_bandwidth_gb_s);
  for (auto& [precision, rate] : device.matmul_tflops) rate = Rounded(rate);
  device.sources.push_back(fmt::format(
      "matmul_tflops, reached_bandwidth_gb_s and launch_us: {}, {}, {}; error "
      "{} (median / mean) of the {} held out",
      kSource, Counted(rows, "row"), NowUtc(), ErrorsText(fit.after),
      fit.held_out));
  return device::DeviceToJson(device);
}

std::string HostFileOf(const DeviceFit& fit) {
  return host::HostToJson(
             {.spec = {.name = "calibrated",
                       .factor = Rounded(fit.found.host_factor),
                       .spread = Rounded(std::exp(2 * fit.after.mean))},
              .measured_at = NowUtc(),
              .source = kSource}) +
         "\n";
}

ExitCode RunCalibrateDevice(const CalibrateDeviceCommand& command) {
  for (const std::string& path :
       {command.out, command.host_out, command.rows_out}) {
    if (!path.empty()) RequireWritable(path);
  }
  const DeviceCatalog catalog = command.gpu.Catalog();
  const DeviceConstants start{.device = catalog.FindDevice(command.gpu.device)};
  const std::vector<TimedStep> steps = StepsOf(command, catalog);
  const DeviceFit fit = FitDevice(TracedRows(steps), start);
  std::cout << FormatDeviceFit(fit, steps.size());
  if (fit.after.mean > fit.before.mean) {
    PrintError("the held-out rows got worse; nothing is written");
    return kExitDoesNotFit;
  }
  if (!command.out.empty()) {
    WriteWhole(command.out, DeviceFileOf(fit, steps.size()));
  }
  if (!command.host_out.empty()) WriteWhole(command.host_out, HostFileOf(fit));
  return kExitOk;
}

void AddRowsFlags(CLI::App& command, CalibrateDeviceCommand& options) {
  AddDefaulted(command, "--device", options.device,
               "cuda:N or the UUID of a MIG instance");
  CLI::Option* rows = command.add_option(
      "--rows", options.rows,
      "Table of `foretell measure --csv` to fit instead of measuring");
  command
      .add_option("--simulate", options.simulate,
                  "Device that is predicted instead of measured, as a test of "
                  "the fit")
      ->excludes(rows);
  command.add_option("--rows-out", options.rows_out,
                     "CSV file for what was measured, for --rows");
}

}  // namespace

void AddCalibrateDevice(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<CalibrateDeviceCommand>();
  CLI::App* command = app.add_subcommand(
      "calibrate-device",
      "Fit the constants of a GPU and its host to a suite of measured steps");
  command->footer(kCalibrateDeviceExamples);
  AddRowsFlags(*command, *options);
  AddDefaulted(*command, "--gpu", options->gpu.device,
               "GPU to begin with, see `foretell devices`");
  command->add_option("--device-file", options->gpu.device_files,
                      "JSON file that adds a device");
  command->add_option("--out", options->out,
                      "Device file to write, for --device-file");
  command->add_option("--host-out", options->host_out,
                      "Host file to write, for --host");
  command->callback(
      [options, &exit_code] { exit_code = RunCalibrateDevice(*options); });
}

}  // namespace foretell::cli
