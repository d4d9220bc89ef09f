#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/measure_flags.h"
#include "cli/flags/model_options.h"
#include "cli/flags/number_checks.h"
#include "cli/flags/run_flags.h"
#include "cli/print/print_measurements.h"
#include "cli/print/progress_bar.h"
#include "foretell/measure.h"
#include "src/core/output_file.h"
#include "src/measure/request_lists.h"

namespace foretell::cli {
namespace {

constexpr char kMeasureExamples[] =
    "Examples:\n"
    "  foretell measure resnet50.onnx --device cuda:0 --batch 1,8,32\n"
    "  foretell measure resnet50.onnx --batch 8 --mode inference,training "
    "--energy --csv\n"
    "  foretell measure resnet50.onnx --batch 8 --device MIG-UUID --json\n"
    "  foretell measure resnet50.onnx --batch 1 --device cpu\n"
    "  foretell measure resnet50.pt2 --runtime compile --trust\n"
    "Every row is measured in a separate process: docs/measure.md.";

struct MeasureFlags {
  ModelOptions model;
  std::vector<std::string> devices = {"cuda:0"};
  std::vector<std::string> modes = {"inference"};
  std::vector<std::string> precisions = {"fp32"};
  std::uint64_t seed = 0;
  MeasureOptions measure;
  std::string environment_out;
  bool json = false;
  bool csv = false;
};

MeasureRequest BaseRequest(const MeasureFlags& flags) {
  return {.load = flags.model.ToLoadOptions(),
          .inputs = flags.model.ToRequest(std::nullopt),
          .run = flags.model.run,
          .seed = flags.seed,
          .options = flags.measure};
}

std::vector<MeasureRequest> Requests(const MeasureFlags& flags) {
  measure::RequestLists lists{.models = flags.model.models,
                              .devices = flags.devices,
                              .modes = {},
                              .precisions = {},
                              .batches = flags.model.batches};
  for (const std::string& mode : flags.modes) {
    lists.modes.push_back(*ParseMode(mode));
  }
  for (const std::string& precision : flags.precisions) {
    lists.precisions.push_back(*ParsePrecision(precision));
  }
  return RequestsOf(BaseRequest(flags), lists);
}

std::vector<Measurement> MeasureAll(
    const std::vector<MeasureRequest>& requests) {
  ProgressBar progress;
  std::int64_t failed = 0;
  std::vector<Measurement> rows;
  for (const MeasureRequest& request : requests) {
    if (requests.size() > 1) {
      progress.Show(std::ssize(rows), std::ssize(requests), failed,
                    request.model);
    }
    rows.push_back(MeasureIsolated(request));
    if (rows.back().status != MeasureStatus::kOk) ++failed;
  }
  return rows;
}

ExitCode RunMeasure(const MeasureFlags& flags) {
  const std::vector<Measurement> rows = MeasureAll(Requests(flags));
  if (flags.json) {
    std::cout << MeasurementsToJson(rows) << "\n";
  } else if (flags.csv) {
    std::cout << MeasurementsToCsv(rows);
  } else {
    std::cout << FormatMeasurements(rows);
  }
  if (!flags.environment_out.empty()) {
    WriteWhole(flags.environment_out, EnvironmentsToJson(rows) + "\n");
  }
  bool all_ok = true;
  for (const Measurement& row : rows) {
    if (row.status == MeasureStatus::kOk) continue;
    all_ok = false;
    PrintError(fmt::format("{}: {}: {}", row.model,
                           MeasureStatusName(row.status), row.message));
  }
  return all_ok ? kExitOk : kExitModelFailed;
}

void AddWhat(CLI::App& command, MeasureFlags& flags) {
  command
      .add_option("MODEL", flags.model.models,
                  "ONNX, TorchScript or torch.export files")
      ->required();
  AddList(command, "--device", flags.devices,
          "cpu, cuda:N or the UUID of a MIG instance; default cuda:0");
  AddList(command, "-b,--batch", flags.model.batches,
          "Batch sizes, e.g. 1,8,32")
      ->check(AboveZero());
  AddList(command, "-m,--mode", flags.modes, "inference (default), training")
      ->check(CLI::IsMember({"inference", "training"}));
  AddList(command, "-p,--precision", flags.precisions,
          "fp32 (default), tf32, fp16, bf16")
      ->check(CLI::IsMember({"fp32", "tf32", "fp16", "bf16"}));
  AddOptimizer(command, flags.model.run.optimizer);
  flags.model.AddInputFlag(command);
  command
      .add_option("-d,--dim", flags.model.dims,
                  "Size of a named dimension: seq=128")
      ->allow_extra_args(false);
  flags.model.AddLengthFlag(command);
  command.parse_complete_callback([&flags] { flags.model.TakeLength(); });
  AddDefaulted(command, "--fuse", flags.model.fuse,
               "ONNX patterns to fuse, see predict",
               CLI::IsMember({"none", "exported", "equivalent"}));
  AddDefaulted(command, "--seed", flags.seed,
               "Seed of random weights and inputs");
}

void AddHow(CLI::App& command, MeasureOptions& options) {
  command.add_flag("--energy", options.energy,
                   "Measure joules per run with NVML's or RAPL's counter; adds "
                   "about ten seconds");
  AddDefaulted(command, "--warmup", options.warmup_runs,
               "Warm-up runs before the timed ones", FromZero());
  AddDefaulted(command, "--min-runs", options.min_runs, "Fewest timed runs",
               AboveZero());
  AddDefaulted(command, "--min-seconds", options.min_seconds,
               "Minimum duration of the timed runs in seconds", FromZero());
  AddDefaulted(command, "--deadline", options.deadline_s,
               "Time limit of a row in seconds", AboveZero());
  AddDefaulted(
      command, "--energy-repeats", options.energy_options.repeats,
      "Energy windows, each of at least 2 s and 50 steps of the counter",
      AboveZero());
  AddDefaulted(command, "--threads", options.threads,
               "CPU threads; 0: LibTorch's default", FromZero());
  AddTrust(command, options);
  command.add_option(
      "--nvml", options.nvml_library,
      "Path of NVIDIA's management library (NVML), if it is not found");
}

}  // namespace

void AddMeasure(CLI::App& app, ExitCode& exit_code) {
  auto flags = std::make_shared<MeasureFlags>();
  CLI::App* command = app.add_subcommand(
      "measure", "Measure latency, memory and energy of models on a device");
  command->footer(kMeasureExamples);
  flags->model.run.host = Host::kCpp;
  AddWhat(*command, *flags);
  AddMeasuredRunFlags(*command, flags->model.run);
  AddRuntime(*command, flags->model.run.runtime);
  AddHow(*command, flags->measure);
  command->add_option("--environment-out", flags->environment_out,
                      "JSON file for the hardware and software of the rows");
  CLI::Option* json =
      command->add_flag("--json", flags->json, "JSON document on stdout");
  command->add_flag("--csv", flags->csv, "One line per row on stdout")
      ->excludes(json);
  command->callback([flags, &exit_code] { exit_code = RunMeasure(*flags); });
}

}  // namespace foretell::cli
