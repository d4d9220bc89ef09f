#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/answer_trace.h"
#include "cli/commands/command.h"
#include "cli/commands/step_simulator.h"
#include "cli/flags/fit_flags.h"
#include "cli/flags/loop_flags.h"
#include "cli/flags/number_checks.h"
#include "cli/print/print_advice.h"
#include "src/core/json_text.h"
#include "src/core/units.h"
#include "src/judge/advice_json.h"

namespace foretell::cli {
namespace {

constexpr char kAdviseExamples[] =
    "Traces and simulates every remedy like the step itself. Judges memory as\n"
    "`foretell fits` does with the same flags. Exit status 1: neither the "
    "step\n"
    "nor any combination that was tried fits.\n"
    "Examples:\n"
    "  foretell advise model.pt2 --mode training --optimizer adamw --batch 64\n"
    "  foretell advise model.onnx --batch 512 --profile 1g.5gb\n"
    "  foretell advise model.pt2 --mode training --optimizer adam --batch 64 "
    "\\\n"
    "      --try-trainable 'head|norm'";

struct AdviseOptions {
  ModelOptions model;
  PredictorFlags predictor;
  FitLimits limits;
  std::optional<std::int64_t> batch;
  std::string trainable;
  LoraSpec lora;
  bool json = false;
};

/// The prediction on `device`; empty where it cannot answer for the step.
std::optional<Prediction> PredictElsewhere(const StepSimulator& simulator,
                                           const StepSetup& setup,
                                           const Trace& trace,
                                           const DeviceSpec& device) {
  try {
    return simulator.Predict(setup, trace, device);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void AddPlace(const Prediction& prediction, const DeviceSpec& device,
              FitLimits limits, const std::string& profile,
              std::vector<OtherPlace>& places) {
  limits.profile = profile;
  if (!JudgeFit(prediction, device, limits).fits) return;
  const mig::Verdict verdict =
      mig::Judge(ToDemand(prediction), device, profile);
  places.push_back(
      {PlaceName(device, profile), verdict.usable_mib, verdict.latency_ms});
}

/// MiB of parameters, buffers and states that the step holds on any device.
double HeldMib(const Prediction& prediction) {
  constexpr TensorRole kHeld[] = {TensorRole::kParameter, TensorRole::kBuffer,
                                  TensorRole::kOptimizerState};
  std::int64_t bytes = 0;
  for (const TensorRole role : kHeld) {
    bytes += prediction.memory.AtPeak(role);
  }
  return ToMiB(bytes);
}

/// Other slices of the device and other devices that hold the unchanged step.
std::vector<OtherPlace> FindPlaces(const StepSimulator& simulator,
                                   const StepSetup& setup, const Trace& trace,
                                   double held_mib, const FitLimits& limits) {
  std::vector<OtherPlace> places;
  for (const DeviceSpec& device : simulator.catalog().devices()) {
    const bool is_asked = device.name == simulator.device().name;
    if (is_asked && limits.profile.empty()) continue;
    if (held_mib > static_cast<double>(device.usable_mib)) continue;
    const std::optional<Prediction> prediction =
        PredictElsewhere(simulator, setup, trace, device);
    if (!prediction) continue;
    AddPlace(*prediction, device, limits, "", places);
    if (!is_asked) continue;
    for (const MigProfile& profile : device.mig_profiles) {
      if (profile.media_extensions) continue;
      AddPlace(*prediction, device, limits, profile.name, places);
    }
  }
  std::ranges::stable_sort(places, {}, &OtherPlace::usable_mib);
  return places;
}

AdvisedModel Advised(const AdviseOptions& options) {
  const StepSimulator simulator(options.model, options.predictor,
                                options.batch);
  const DeviceSpec& device = simulator.device();
  const StepSetup setup = simulator.Setup();
  const Trace trace = simulator.TraceStep(setup);
  const Prediction prediction = simulator.Predict(setup, trace, device);
  const AdviceRequest request = {
      .setup = setup,
      .batch = options.batch.value_or(0),
      .normalizes_over_batch =
          std::ranges::count(trace.graph.nodes(), OpKind::kBatchNorm,
                             &Node::kind) > 0,
      .trainable = options.trainable,
      .lora = options.lora,
      .limits = options.limits,
      .unchanged = prediction};
  AdvisedModel advised = {
      .model = simulator.program().name(),
      .place = PlaceName(device, options.limits.profile),
      .usable_mib = static_cast<double>(
          mig::Judge(ToDemand(prediction), device, options.limits.profile)
              .usable_mib),
      .warnings = WarningsOf(trace, prediction)};
  advised.advice = Advise(request, device, [&](const StepSetup& changed) {
    return simulator.Predict(changed);
  });
  if (!advised.advice.unchanged.fits) {
    advised.elsewhere = FindPlaces(simulator, setup, trace, HeldMib(prediction),
                                   options.limits);
  }
  return advised;
}

nlohmann::ordered_json NoAdvice(const ReportError& error) {
  return AdviceToJson({}, {&error, 1});
}

ExitCode RunAdvise(const AdviseOptions& options) {
  const AdvisedModel advised = Advised(options);
  if (options.json) {
    std::cout << DumpJson(AdviceToJson({&advised, 1}, {})) << "\n";
  } else {
    std::cout << FormatAdvice(advised);
  }
  const Advice& advice = advised.advice;
  return advice.unchanged.fits || advice.smallest ? kExitOk : kExitDoesNotFit;
}

}  // namespace

void AddAdvise(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<AdviseOptions>();
  CLI::App* command = app.add_subcommand(
      "advise", "Simulate remedies for a step that does not fit");
  command->footer(kAdviseExamples);
  options->model.AddTo(*command, /*many=*/false);
  command
      ->add_option("-b,--batch", options->batch,
                   "Batch size: the leading dimension of every input; if "
                   "unset, smaller batches are not tried")
      ->check(AboveZero());
  options->predictor.AddTo(*command, options->model.run);
  AddFitFlags(*command, options->limits);
  command->add_option("--try-trainable", options->trainable,
                      "Remedy: train only parameters whose names match this "
                      "regular expression");
  command->add_option_function<std::string>(
      "--try-lora",
      [options](const std::string& text) {
        options->lora = ParseLora("--try-lora", text);
      },
      "Remedy: LoRA adapters, written as for --lora");
  command->add_flag("--json", options->json, "JSON document on stdout");
  AnswerBy(&RunAdvise, options, *command, exit_code, &NoAdvice);
}

}  // namespace foretell::cli
