#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>

#include "cli/commands/command.h"
#include "cli/commands/plan_options.h"
#include "cli/flags/memory_size.h"
#include "cli/flags/number_checks.h"
#include "foretell/error.h"

namespace foretell::cli {
namespace {

constexpr char kPlanExamples[] =
    "The largest batch or resolution of a model that fits a memory. Exit "
    "status\n"
    "1: not even the smallest fits. docs/planning.md\n"
    "Examples:\n"
    "  foretell plan model.onnx --memory 16GiB --mode training\n"
    "  foretell plan zoo:unet3d --memory 16GiB --axis resolution --batch 1";

ExitCode RunPlan(const PlanOptions& options) { return PlanModel(options); }

void AddMemoryFlags(CLI::App& command, PlanOptions& plan) {
  command
      .add_option("--memory", plan.memory,
                  "Memory that there is, of a GPU or a worker: 16GiB, 768MiB")
      ->required();
  command
      .add_option("--margin", plan.margin,
                  "Share of the memory that is left free")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
  command.add_flag("--json", plan.json, "JSON document on stdout");
}

void AddModelFlags(CLI::App& command, PlanOptions& plan) {
  command
      .add_option("--axis", plan.axis,
                  "What grows: batch, resolution (the edge of an image or "
                  "of a volume's tile), a named dimension or a field of "
                  "the zoo")
      ->capture_default_str();
  command
      .add_option("-b,--batch", plan.batch, "Batch where another axis grows")
      ->check(AboveZero());
  command
      .add_option("--step", plan.step,
                  "Multiples of the axis to try; default: 1, of a resolution "
                  "32")
      ->check(AboveZero());
  command.add_option("--limit", plan.limit, "Largest value to try")
      ->check(AboveZero())
      ->capture_default_str();
  command
      .add_option("-i,--input", plan.model.inputs,
                  "Type of an input: name=f32[8,3,224,224]")
      ->allow_extra_args(false);
  plan.model.AddTraceFlags(command);
  plan.predictor.AddTo(command, plan.model.run);
}

}  // namespace

std::int64_t PlanOptions::memory_bytes() const {
  return ParseMemorySize("--memory", memory);
}

void AddPlan(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand(
      "plan", "The largest batch, tile or chunk that fits a memory");
  command->footer(kPlanExamples);
  command
      ->add_option("WHAT", options->model.models,
                   "ONNX, TorchScript or torch.export file, or zoo:NAME")
      ->required()
      ->expected(1);
  AddMemoryFlags(*command, *options);
  AddModelFlags(*command, *options);
  command->callback([options, &exit_code] { exit_code = RunPlan(*options); });
}

}  // namespace foretell::cli
