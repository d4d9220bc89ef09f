#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/command.h"
#include "cli/commands/compare_runtimes.h"
#include "cli/commands/step_simulator.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/number_checks.h"
#include "foretell/compare_devices.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"
#include "src/judge/report_json.h"
#include "src/page/html_page.h"

namespace foretell::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kCompareExamples[] =
    "Sorts devices that hold the step by cost, with the prices of a file\n"
    "(CSV: device,usd_per_hour); without prices by latency. Exit status 1: no\n"
    "device holds the step. foretell has no built-in prices.\n"
    "`foretell compare-networks` compares prediction networks.\n"
    "Examples:\n"
    "  foretell compare model.onnx --batch 8\n"
    "  foretell compare model.onnx --batch 8 --devices a100-sxm4-40gb,a30 "
    "\\\n"
    "      --prices prices.csv\n"
    "  foretell compare model.onnx --runtimes eager,compile,tensorrt";

constexpr char kAllDevices[] = "all";

struct CompareOptions {
  ModelOptions model;
  PredictorFlags predictor;
  std::optional<std::int64_t> batch;
  std::vector<std::string> devices = {kAllDevices};
  std::string prices;
  std::string html;
  std::vector<RuntimeSpec> runtimes;  ///< Empty: devices are compared.
  bool json = false;
};

/// What `compare` found of one model.
struct Compared {
  std::string model;
  std::int64_t batch = 0;
  std::vector<DeviceChoice> choices;
  std::vector<std::string> untried;  ///< "device: why it cannot answer".
};

/// The named devices. An unknown name goes to `untried`; throws
/// Error(kNotFound) where none is known.
std::vector<DeviceSpec> DevicesOf(const CompareOptions& options,
                                  const DeviceCatalog& catalog,
                                  std::vector<std::string>& untried) {
  std::vector<DeviceSpec> devices;
  for (const std::string& name : options.devices) {
    if (name == kAllDevices) return catalog.devices();
    try {
      devices.push_back(catalog.FindDevice(name));
    } catch (const Error& error) {
      untried.push_back(error.what());
    }
  }
  if (devices.empty()) catalog.FindDevice(options.devices.front());
  return devices;
}

Compared CompareModel(const CompareOptions& options) {
  const StepSimulator simulator(options.model, options.predictor,
                                options.batch);
  DevicePrices prices;
  if (!options.prices.empty()) {
    std::vector<std::string> skipped;
    prices = ReadPrices(options.prices, simulator.catalog(), skipped);
    for (const std::string& one : skipped) {
      PrintWarning(one + " is no known device; skipped");
    }
  }
  Compared compared = {.model = simulator.program().name()};
  const std::vector<DeviceSpec> devices =
      DevicesOf(options, simulator.catalog(), compared.untried);
  const StepSetup setup = simulator.Setup();
  const Trace trace = simulator.TraceStep(setup);
  compared.batch = trace.graph.info().batch;
  for (const DeviceSpec& device : devices) {
    try {
      compared.choices.push_back(
          ChoiceOf(simulator.Predict(setup, trace, device), device, prices));
    } catch (const Error& error) {
      compared.untried.push_back(
          fmt::format("{}: {}", device.name, error.what()));
    }
  }
  SortChoices(compared.choices);
  return compared;
}

std::string OrNothing(const std::optional<double>& value) {
  return value ? FormatSignificant(*value) : "";
}

/// Of the choices; prices only where there are any.
TextTable CompareTable(const Compared& compared) {
  const bool with_prices = std::ranges::any_of(
      compared.choices,
      [](const DeviceChoice& one) { return one.usd_per_hour.has_value(); });
  std::vector<std::string> header = {"device", "MiB at most", "usable",
                                     "fits",   "ms",          "J"};
  if (with_prices) {
    header.insert(header.end(), {"USD/h", "USD/1000 batches"});
  }
  TextTable table(std::move(header));
  for (const DeviceChoice& choice : compared.choices) {
    std::vector<std::string> row = {choice.device,
                                    FormatNumber(choice.needed_mib, 0),
                                    FormatNumber(choice.usable_mib, 0),
                                    choice.fits ? "yes" : "no",
                                    FormatSignificant(choice.latency_ms),
                                    FormatSignificant(choice.energy_j)};
    if (with_prices) {
      row.push_back(OrNothing(choice.usd_per_hour));
      row.push_back(OrNothing(choice.usd_per_thousand));
    }
    table.AddRow(std::move(row));
  }
  return table;
}

std::string FormatCompared(const Compared& compared) {
  std::string text =
      fmt::format("{}, batch {}\n{}", Printable(compared.model), compared.batch,
                  CompareTable(compared).ToString());
  for (const std::string& one : compared.untried) {
    text += fmt::format("not simulated: {}\n", Printable(one));
  }
  return text;
}

Json OrNull(const std::optional<double>& value) {
  return value ? Json(RoundedForJson(*value)) : Json();
}

Json ComparedToJson(const Compared& compared) {
  Json devices = Json::array();
  for (const DeviceChoice& choice : compared.choices) {
    devices.push_back(
        {{"device", choice.device},
         {"needed_mib", RoundedForJson(choice.needed_mib)},
         {"usable_mib", RoundedForJson(choice.usable_mib)},
         {"fits", choice.fits},
         {"latency_ms", RoundedForJson(choice.latency_ms)},
         {"energy_j", RoundedForJson(choice.energy_j)},
         {"usd_per_hour", OrNull(choice.usd_per_hour)},
         {"usd_per_thousand_batches", OrNull(choice.usd_per_thousand)}});
  }
  return {{"model", compared.model},
          {"batch", compared.batch},
          {"devices", std::move(devices)},
          {"untried", compared.untried}};
}

/// Prints the answer, of which `text` is made for people, and writes its page.
void Show(const CompareOptions& options, const std::string& model, Json answer,
          const std::string& text) {
  const Json document = AnswersToJson(Json::array({std::move(answer)}), {});
  if (!options.html.empty()) {
    WriteWhole(options.html, HtmlPage(PageView::kDevices, model, document));
  }
  std::cout << (options.json ? DumpJson(document) + "\n" : text);
}

/// On the devices that are named, else on that of other commands.
ExitCode RunCompareRuntimes(const CompareOptions& options) {
  const StepSimulator simulator(options.model, options.predictor,
                                options.batch);
  std::vector<std::string> unknown;
  const std::vector<DeviceSpec> devices =
      options.devices == CompareOptions{}.devices
          ? std::vector{simulator.device()}
          : DevicesOf(options, simulator.catalog(), unknown);
  ComparedRuntimes compared =
      CompareRuntimes(simulator, options.runtimes, devices);
  std::ranges::copy(unknown, std::back_inserter(compared.untried));
  Show(options, compared.model, RuntimesToJson(compared),
       FormatRuntimes(compared));
  return compared.AnyFits() ? kExitOk : kExitDoesNotFit;
}

ExitCode RunCompare(const CompareOptions& options) {
  if (!options.runtimes.empty()) return RunCompareRuntimes(options);
  const Compared compared = CompareModel(options);
  Show(options, compared.model, ComparedToJson(compared),
       FormatCompared(compared));
  const bool any = !compared.choices.empty() && compared.choices[0].fits;
  return any ? kExitOk : kExitDoesNotFit;
}

}  // namespace

void AddCompare(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare", "Find the device that runs a step at the lowest cost");
  command->footer(kCompareExamples);
  options->model.AddTo(*command, /*many=*/false);
  command
      ->add_option("-b,--batch", options->batch,
                   "Batch size: the leading dimension of every input")
      ->check(AboveZero());
  options->predictor.AddTo(*command, options->model.run);
  command->remove_option(command->get_option("--device"));
  AddDefaulted(*command, "--devices", options->devices,
               "Devices by name, or all that `foretell devices` lists")
      ->delimiter(',')
      ->allow_extra_args(false);
  CLI::Option* runtimes = command->add_option_function<std::string>(
      "--runtimes",
      [options](const std::string& text) {
        options->runtimes = ParseRuntimes("--runtimes", text);
      },
      "Runtimes to compare instead of devices, each with its options behind "
      "it: eager,compile,max-autotune,tensorrt; on one device unless --devices "
      "names more");
  runtimes->excludes(command->get_option("--runtime"));
  command
      ->add_option("--prices", options->prices,
                   "CSV file with the columns device and usd_per_hour")
      ->excludes(runtimes);
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->add_option("--html", options->html,
                      "HTML page of the comparison, in addition to the output");
  AnswerBy(&RunCompare, options, *command, exit_code);
}

}  // namespace foretell::cli
