#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/dataset.h"
#include "cli/flags/list_sweep.h"
#include "cli/flags/measure_flags.h"
#include "datasets/collect/fill.h"
#include "datasets/collect/trace_point.h"
#include "foretell/dataset.h"
#include "foretell/device.h"
#include "foretell/error.h"
#include "foretell/measure.h"
#include "src/core/units.h"

namespace foretell::cli {
namespace {

/// Labels of a point that was run in another way are labels of another source:
/// one does not stand in for the other.
std::string SourceOf(const Run& run) {
  std::string source = "foretell measure";
  if (run.autocast) source += " --autocast";
  if (run.channels_last) source += " --channels-last";
  if (run.grad_mode) source += " --grad";
  return source;
}

constexpr double kSecondsPerMinute = 60;

constexpr char kDatasetMeasureExamples[] =
    "Examples:\n"
    "  foretell dataset measure d.sqlite --device cuda:0 "
    "--device-name a100-sxm4-40gb --minutes 30\n"
    "  foretell dataset measure d.sqlite --device cpu --shard 2/8 "
    "--out labels-2.sqlite";

struct MeasureCommand {
  std::string dataset;
  std::string out;
  std::string device = "cuda:0";
  std::string name;
  std::string shard = "1/1";
  std::uint64_t seed = 0;
  std::int64_t energy_every = 10;
  std::int64_t attempts = 3;
  std::optional<std::int64_t> limit;
  std::optional<double> minutes;
  Run run = {.host = Host::kCpp};  ///< Without the step: points state it.
  MeasureOptions options;
};

MeasureRequest RequestFor(const dataset::LabelTask& task,
                          const MeasureCommand& command) {
  const Point& point = task.point.point;
  MeasureRequest request{.model = ModelNameOf(point),
                         .load = {},
                         .inputs = {},
                         .run = command.run,
                         .device = command.device,
                         .options = command.options};
  request.run.mode = point.mode;
  request.run.grad_mode &= point.mode == Mode::kInference;
  request.run.precision =
      command.run.autocast ? Precision::kFp32 : point.precision;
  request.inputs.inputs = dataset::InputsOf(point);
  request.inputs.batch = point.batch;
  if (!point.optimizer.empty()) {
    request.run.optimizer = ParseOptimizer(point.optimizer);
  }
  request.options.energy = task.with_energy;
  return request;
}

std::optional<double> LabelMib(std::optional<std::int64_t> bytes) {
  if (!bytes) return std::nullopt;
  return ToMiB(*bytes);
}

LabelStatus StatusOf(MeasureStatus status) {
  switch (status) {
    case MeasureStatus::kOk:
      return LabelStatus::kOk;
    case MeasureStatus::kOutOfMemory:
      return LabelStatus::kOutOfMemory;
    default:
      return LabelStatus::kFailed;
  }
}

/// What a label has no column for: the whole measurement but its environment
/// and what the point says already.
std::string DetailsOf(nlohmann::json measurement) {
  for (const char* known :
       {"environment", "model", "format", "mode", "precision", "optimizer",
        "batch", "device", "inputs", "measured_at", "message"}) {
    measurement.erase(known);
  }
  return measurement.dump();
}

Label LabelOf(const Measurement& measurement) {
  const nlohmann::json json =
      nlohmann::json::parse(MeasurementToJson(measurement));
  Label label{
      .setting = json.value("environment", nlohmann::json::object()).dump(),
      .status = StatusOf(measurement.status)};
  if (measurement.status == MeasureStatus::kOk) {
    label.memory_mib = LabelMib(measurement.memory.process_bytes);
    label.allocated_mib = LabelMib(measurement.memory.peak_allocated_bytes);
    label.reserved_mib = LabelMib(measurement.memory.peak_reserved_bytes);
    label.energy_j = measurement.energy.energy_j;
    if (measurement.latency) label.latency_ms = measurement.latency->median_ms;
  } else {
    label.reason = std::string(MeasureStatusName(measurement.status)) + ": " +
                   measurement.message;
  }
  label.details = DetailsOf(json);
  label.measured_at = measurement.measured_at;
  return label;
}

/// What labels call the device. "cuda:0" says nothing to who reads them later.
std::string DeviceNameOf(const MeasureCommand& command) {
  if (command.name.empty() && command.device == "cpu") return "cpu";
  if (command.name.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "which GPU is " + command.device +
                    "? Say --device-name a100-sxm4-40gb, for instance");
  }
  try {
    return DeviceCatalog::BuiltIn().FindDevice(command.name).name;
  } catch (const Error&) {
    return command.name;
  }
}

ExitCode RunMeasure(const MeasureCommand& command) {
  const std::string device = DeviceNameOf(command);
  Dataset dataset = command.out.empty()
                        ? Dataset::OpenForWriting(command.dataset)
                        : Dataset::Open(command.dataset);
  std::optional<Dataset> own_file;
  if (!command.out.empty()) own_file = Dataset::OpenOrCreate(command.out);
  const ProgressOnTerminal progress;
  dataset::FillOptions options{.device = device,
                               .source = SourceOf(command.run),
                               .provenance = Provenance::kMeasured,
                               .shard = dataset::ParseShard(command.shard),
                               .seed = command.seed,
                               .energy_every = command.energy_every,
                               .max_attempts = command.attempts,
                               .limit = command.limit,
                               .progress = progress.function()};
  if (command.minutes) options.budget_s = *command.minutes * kSecondsPerMinute;
  return PrintFilled(dataset::FillLabels(
      dataset, own_file ? *own_file : dataset,
      [&command](const dataset::LabelTask& task) {
        return LabelOf(MeasureIsolated(RequestFor(task, command)));
      },
      options));
}

}  // namespace

void AddDatasetMeasure(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<MeasureCommand>();
  CLI::App* command = app.add_subcommand(
      "measure", "Measure the points that have no label yet, one process each");
  command->footer(kDatasetMeasureExamples);
  command->add_option("DATASET", options->dataset, "Dataset")->required();
  command->add_option("-o,--out", options->out,
                      "Own file for the labels of this worker, for `merge`; "
                      "default: the dataset itself");
  command->add_option("--device", options->device, "cuda:0, cpu, MIG-…")
      ->capture_default_str();
  command->add_option("--device-name", options->name,
                      "Device in the labels, e.g. a100-sxm4-40gb; default: "
                      "what --device says");
  command->add_option("--shard", options->shard, "Part of the points: 2/8")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Another order of the points")
      ->capture_default_str();
  AddMeasuredRunFlags(*command, options->run);
  command
      ->add_option("--energy-every", options->energy_every,
                   "Every n-th point with energy")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--attempts", options->attempts,
                   "Attempts in all before a point is given up")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--limit", options->limit, "Points at most");
  command->add_option("--minutes", options->minutes,
                      "Starts no point after so many minutes");
  command
      ->add_option("--deadline", options->options.deadline_s,
                   "Seconds that one point may take")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->callback(
      [options, &exit_code] { exit_code = RunMeasure(*options); });
}

}  // namespace foretell::cli
