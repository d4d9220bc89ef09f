#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/command.h"
#include "cli/commands/plan_options.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/memory_size.h"
#include "cli/flags/number_checks.h"
#include "foretell/plan.h"
#include "src/core/failure.h"

namespace foretell::cli {
namespace {

constexpr char kPlanExamples[] =
    "WHAT is a model: finds its largest batch or resolution. With --shape, "
    "WHAT\n"
    "is an algorithm: finds its largest chunk. Built in: convolution3d, fft,\n"
    "matmul, sort, stencil; --run learns one from a few runs. Exit status 1: "
    "not\n"
    "even the smallest fits. docs/planning.md\n"
    "Examples:\n"
    "  foretell plan model.onnx --memory 16GiB --mode training\n"
    "  foretell plan zoo:unet3d --memory 16GiB --axis resolution --batch 1\n"
    "  foretell plan stencil --shape 1024,1024,512 --memory 2GiB\n"
    "  foretell plan mine --run 'python algo.py {shape}' \\\n"
    "      --axes z=16..128,y=16..128,x=16..128 --out mine.json\n"
    "  foretell plan --footprint mine.json --shape 900,900,900 --memory 4GiB";

ExitCode RunPlan(const PlanOptions& options) {
  if (!options.run.empty()) return PlanByRuns(options);
  if (!options.shape.empty()) return PlanVolume(options);
  const std::string what = options.what();
  if (what.empty() || !options.footprint.empty()) {
    throw InvalidArgument(
        "plan needs a model, a --shape with an algorithm or --footprint, or "
        "--run");
  }
  if (std::ranges::count(BuiltInAlgorithms(), what) > 0) {
    throw InvalidArgument("plan {} needs the --shape of a volume", what);
  }
  return PlanModel(options);
}

void AddMemoryFlags(CLI::App& command, PlanOptions& plan) {
  command.add_option("--memory", plan.memory,
                     "Available memory of a GPU or a worker: 16GiB, 768MiB");
  AddDefaulted(command, "--margin", plan.margin,
               "Share of the memory to leave free", CLI::Range(0.0, 0.99));
  command.add_flag("--json", plan.json, "JSON document on stdout");
}

void AddModelFlags(CLI::App& command, PlanOptions& plan) {
  AddDefaulted(command, "--axis", plan.axis,
               "Axis to maximize: batch, resolution (the edge of an image or "
               "of a volume's tile), a named dimension or a zoo field");
  command
      .add_option("-b,--batch", plan.batch, "Batch size if --axis is not batch")
      ->check(AboveZero());
  command
      .add_option(
          "--step", plan.step,
          "Step between the values to try; default: 1, for a resolution 32")
      ->check(AboveZero());
  AddDefaulted(command, "--limit", plan.limit, "Largest value to try",
               AboveZero());
  plan.model.AddInputFlag(command);
  plan.model.AddTraceFlags(command);
  plan.predictor.AddTo(command, plan.model.run);
}

void AddVolumeFlags(CLI::App& command, PlanOptions& plan) {
  AddList(command, "--shape", plan.shape,
          "Elements of the volume along each axis")
      ->check(SizeInList());
  command.add_option(
      "--dtype", plan.dtype,
      "Element type of the volume; default: f64, or that of --footprint");
  AddList(command, "--align", plan.align,
          "Chunks of the storage; the result is a multiple of them")
      ->check(SizeInList());
  AddList(command, "--halo", plan.halo,
          "Elements that a task reads beyond its chunk on each side: one "
          "number, or one per axis; default: the footprint's")
      ->check(FromZero());
  AddList(command, "--whole", plan.whole,
          "Axes that are not cut; default: the footprint's");
  command
      .add_option("--array", plan.arrays,
                  "Axes of one of several arrays that are cut: --array m,k "
                  "--array k,n; default: the footprint's")
      ->allow_extra_args(false);
  command.add_option("--footprint", plan.footprint,
                     "Footprint stored by --out, instead of a built-in one");
}

void AddRunsFlags(CLI::App& command, PlanOptions& plan) {
  command
      .add_option("--run", plan.run,
                  "Command that works on one block, to learn a footprint "
                  "from its peak memory: python algo.py {shape}")
      ->excludes(command.get_option("--footprint"));
  command.add_option("--axes", plan.axes,
                     "Range of blocks to run, slowest axis first: "
                     "z=16..128,y=16..128,x=16..128");
  AddDefaulted(command, "--runs", plan.runs, "Runs at most",
               CLI::Range(4, 1000));
  AddDefaulted(command, "--deadline", plan.deadline_s,
               "Time limit of a run in seconds", AboveZero());
  AddDefaulted(command, "--seed", plan.seed, "Seed for choosing blocks");
  command.add_option("--note", plan.note,
                     "Note on the source, stored by --out");
  command.add_option("--out", plan.out, "File to store the footprint in");
}

}  // namespace

std::int64_t PlanOptions::memory_bytes() const {
  if (memory.empty()) {
    throw InvalidArgument("plan needs --memory, as --memory 16GiB");
  }
  return ParseMemorySize("--memory", memory);
}

void AddPlan(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command =
      app.add_subcommand("plan",
                         "Largest resolution, length, tile or chunk that fits "
                         "in memory (batch of a model: max-batch)");
  command->footer(kPlanExamples);
  command
      ->add_option("WHAT", options->model.models,
                   "ONNX, TorchScript or torch.export file, or zoo:NAME; "
                   "with --shape or --run an algorithm")
      ->expected(0, 1)
      ->check(NoSize());
  AddMemoryFlags(*command, *options);
  AddVolumeFlags(*command, *options);
  AddRunsFlags(*command, *options);
  AddModelFlags(*command, *options);
  command->callback([options, &exit_code] {
    exit_code = AnswerFor(
        options->what(), [&] { return RunPlan(*options); },
        options->json ? &NoResults : nullptr);
  });
}

}  // namespace foretell::cli
