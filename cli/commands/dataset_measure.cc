#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>

#include "cli/commands/dataset.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/measure_flags.h"
#include "cli/flags/number_checks.h"
#include "datasets/collect/fill.h"
#include "datasets/collect/measure_point.h"
#include "foretell/dataset.h"
#include "foretell/measure.h"

namespace foretell::cli {
namespace {

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
  std::string name;
  std::string shard = "1/1";
  std::uint64_t seed = 0;
  std::int64_t energy_every = 10;
  std::int64_t attempts = 3;
  std::optional<std::int64_t> limit;
  std::optional<double> minutes;
  dataset::MeasureSetup setup;
};

ExitCode RunMeasure(const MeasureCommand& command) {
  const std::string device =
      dataset::MeasuredDeviceName(command.setup.device, command.name);
  Dataset dataset = command.out.empty()
                        ? Dataset::OpenForWriting(command.dataset)
                        : Dataset::Open(command.dataset);
  std::optional<Dataset> own_file;
  if (!command.out.empty()) own_file = Dataset::OpenOrCreate(command.out);
  const ProgressOnTerminal progress;
  dataset::FillOptions options{
      .device = device,
      .source = dataset::MeasureSource(command.setup.run),
      .provenance = Provenance::kMeasured,
      .shard = dataset::ParseShard(command.shard),
      .seed = command.seed,
      .energy_every = command.energy_every,
      .max_attempts = command.attempts,
      .limit = command.limit,
      .progress = progress.function()};
  if (command.minutes) options.budget_s = *command.minutes * kSecondsPerMinute;
  return PrintSummary(dataset::FillLabels(
      dataset, own_file ? *own_file : dataset,
      [&command](const dataset::LabelTask& task) {
        return dataset::LabelOf(
            MeasureIsolated(RequestFor(task, command.setup)));
      },
      options));
}

}  // namespace

void AddDatasetMeasure(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<MeasureCommand>();
  CLI::App* command = app.add_subcommand(
      "measure", "Measure points without a label, each in its own process");
  command->footer(kDatasetMeasureExamples);
  command->add_option("DATASET", options->dataset, "Dataset")->required();
  command->add_option("-o,--out", options->out,
                      "Separate file for this worker's labels, for `merge`; "
                      "default: the dataset itself");
  AddDefaulted(*command, "--device", options->setup.device,
               "cuda:0, cpu, MIG-…");
  command->add_option("--device-name", options->name,
                      "Device name in the labels, e.g. a100-sxm4-40gb; "
                      "default: that of --device");
  AddDefaulted(*command, "--shard", options->shard, "Part of the points: 2/8");
  AddDefaulted(*command, "--seed", options->seed,
               "Seed for the order of the points");
  AddMeasuredRunFlags(*command, options->setup.run);
  AddTrust(*command, options->setup.options);
  AddDefaulted(*command, "--energy-every", options->energy_every,
               "Measure energy at every n-th point", AboveZero());
  AddDefaulted(*command, "--attempts", options->attempts,
               "Total attempts before a point is skipped", AboveZero());
  command->add_option("--limit", options->limit, "Points at most");
  command->add_option("--minutes", options->minutes,
                      "Minutes after which no further point is started");
  AddDefaulted(*command, "--deadline", options->setup.options.deadline_s,
               "Time limit of one point in seconds", AboveZero());
  command->callback(
      [options, &exit_code] { exit_code = RunMeasure(*options); });
}

}  // namespace foretell::cli
