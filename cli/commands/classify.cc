// Memory of a training step as a class: the simulated figure, rounded.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/answer_trace.h"
#include "cli/commands/command.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "cli/print/progress_bar.h"
#include "foretell/predictor.h"
#include "src/core/failure.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/judge/report_json.h"

namespace foretell::cli {
namespace {

constexpr char kClassifyExamples[] =
    "Examples:\n"
    "  foretell classify resnet50.onnx --batch 32,64,128\n"
    "  foretell classify model.pt --input f32[64,784] --width 1000 --json";

struct ClassifyOptions {
  ModelOptions model;
  PredictorFlags predictor;
  double width_mib = 8000;
  bool json = false;
};

/// The class that a step's memory lies in.
struct MemoryClass {
  double memory_mib = 0;
  bool fits = false;  ///< On the device, without cached segments if need be.
  std::int64_t index = 0;
  double from_mib = 0;
  double to_mib = 0;

  /// The edge nearest to the memory by ratio; never 0.
  double NearestEdge() const {
    return memory_mib * memory_mib < from_mib * to_mib ? from_mib : to_mib;
  }
  /// How far the memory lies from it, as a share of it; below 0: below it.
  double ShareFromEdge() const { return memory_mib / NearestEdge() - 1; }
};

MemoryClass ClassOf(const Prediction& prediction, double width_mib) {
  MemoryClass found{.memory_mib = prediction.on_device_mib.value_or(
                        prediction[Target::kMemory].value),
                    .fits = prediction.on_device_mib.has_value()};
  found.index = static_cast<std::int64_t>(found.memory_mib / width_mib);
  found.from_mib = static_cast<double>(found.index) * width_mib;
  found.to_mib = found.from_mib + width_mib;
  return found;
}

/// What is reported about one step.
struct ClassifiedStep {
  std::string model;
  GraphInfo info;
  std::vector<std::string> setup;  ///< SetupWords.
  Prediction prediction;
  MemoryClass found;
  std::vector<std::string> warnings;
};

std::string Format(const ClassifiedStep& step) {
  const MemoryClass& found = step.found;
  const double share = found.ShareFromEdge();
  std::string text = fmt::format(
      "{}: training with {}, {}, batch {}", Printable(step.model),
      step.info.optimizer, PrecisionName(step.info.precision), step.info.batch);
  for (const std::string& flag : step.setup) text += ", " + Printable(flag);
  return text + fmt::format(
                    "\non {}, environment {}\nclass: {} to {} MiB{}\n"
                    "memory: {} MiB, {} {} {} MiB\n",
                    step.prediction.device, step.prediction.context,
                    FormatExact(found.from_mib), FormatExact(found.to_mib),
                    found.fits ? "" : ", does not fit",
                    FormatNumber(found.memory_mib, 0),
                    FormatPercent(std::abs(share), 1),
                    share < 0 ? "below" : "above",
                    FormatExact(found.NearestEdge()));
}

nlohmann::ordered_json ToJson(const ClassifiedStep& step) {
  const MemoryClass& found = step.found;
  return {{"model", step.model},
          {"optimizer", step.info.optimizer},
          {"precision", PrecisionName(step.info.precision)},
          {"setup", step.setup},
          {"device", step.prediction.device},
          {"environment", step.prediction.context},
          {"batch", step.info.batch},
          {"memory_mib", RoundedForJson(found.memory_mib)},
          {"fits", found.fits},
          {"class",
           {{"index", found.index},
            {"from_mib", found.from_mib},
            {"to_mib", found.to_mib}}},
          {"nearest_edge_mib", found.NearestEdge()},
          {"warnings", step.warnings}};
}

ExitCode RunClassify(const ClassifyOptions& options) {
  if (options.model.run.mode != Mode::kTraining) {
    throw InvalidArgument(
        "--mode inference: classes of memory are of training steps");
  }
  const Predictor predictor = options.predictor.Make(options.model.run);
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  const std::vector<ReportError> errors =
      ForEachStep(options.model, [&](Session& session) {
        const Prediction prediction = session.Predict(predictor);
        const ClassifiedStep step = {
            session.program().name(),
            session.Step().graph.info(),
            SetupWords(options.model, options.predictor),
            prediction,
            ClassOf(prediction, options.width_mib),
            WarningsOf(session.Step(), prediction)};
        if (options.json) {
          results.push_back(ToJson(step));
          return;
        }
        WipeProgress();
        std::cout << Format(step) << std::flush;
        PrintWarnings(session, prediction);
      });
  if (options.json) {
    std::cout << DumpJson(AnswersToJson(std::move(results), errors)) << "\n";
  }
  return PrintErrors(errors);
}

}  // namespace

void AddClassify(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<ClassifyOptions>();
  options->model.run.mode = Mode::kTraining;
  CLI::App* command = app.add_subcommand(
      "classify", "Memory of a training step as a class of some MiB");
  command->footer(kClassifyExamples);
  options->model.AddTo(*command, /*many=*/true);
  options->predictor.AddTo(*command, options->model.run);
  AddDefaulted(*command, "--width", options->width_mib,
               "Width of a class in MiB", CLI::Range(1.0, 1e6));
  command->add_flag("--json", options->json, "JSON document on stdout");
  AnswerBy(&RunClassify, options, *command, exit_code);
}

}  // namespace foretell::cli
