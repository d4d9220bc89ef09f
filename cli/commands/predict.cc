#include <CLI/CLI.hpp>

#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "cli/print/print_report.h"
#include "foretell/mig.h"
#include "foretell/predictor.h"
#include "src/core/json_text.h"
#include "src/predict/report.h"
#include "src/predict/report_json.h"

namespace foretell::cli {
namespace {

constexpr char kPredictExamples[] =
    "Examples:\n"
    "  foretell predict resnet50.onnx --batch 8\n"
    "  foretell predict bert.onnx --batch 1,8,32 --dim seq=128 --json\n"
    "  foretell predict model.pt --input f32[8,3,224,224] --mode training "
    "--optimizer adam\n"
    "  foretell predict *.onnx --batch 8 --device h100-sxm5-80gb --csv\n"
    "  foretell predict resnet50.onnx --batch 256 --device rtx-4090 --autocast";

struct PredictOptions {
  ModelOptions model;
  PredictorFlags predictor;
  std::string mig_rule = "usable-memory";
  bool json = false;
  bool csv = false;
};

/// One result is printed in full, and so is JSON.
bool IsInFull(const PredictOptions& options) {
  const ModelOptions& model = options.model;
  return options.json || (!options.csv && model.models.size() == 1 &&
                          model.batches.size() <= 1);
}

/// What the step takes where nobody writes torch.no_grad(). Empty where that is
/// no question, where a trace is no matter of milliseconds, and where one in
/// grad mode is refused.
std::optional<double> MemoryInGradMode(const PredictOptions& options,
                                       const Predictor& predictor,
                                       const Prediction& prediction,
                                       const Program& program,
                                       const Trace& trace) {
  TraceOptions again = options.model.ToTraceOptions();
  const bool asks = again.mode == Mode::kInference && !again.grad_mode;
  if (!asks || again.device == TraceDevice::kCpu || !IsInFull(options)) {
    return std::nullopt;
  }
  again.grad_mode = true;
  try {
    const Trace recorded = TraceProgram(program, trace.inputs, again);
    return predictor.MemoryInGradMode(prediction, recorded.graph);
  } catch (const Error&) {
    return std::nullopt;
  }
}

ExitCode RunPredict(const PredictOptions& options) {
  const Predictor predictor = options.predictor.Make(options.model.run);
  const mig::RecommendOptions rule{.rule = *mig::ParseRule(options.mig_rule)};
  std::vector<Report> reports;
  const std::vector<ReportError> errors = ForEachTrace(
      options.model, [&](const Program& program, const Trace& trace) {
        Prediction prediction = predictor.Predict(trace.graph);
        const std::optional<double> grad_mode_mib =
            MemoryInGradMode(options, predictor, prediction, program, trace);
        mig::Recommendation recommendation = mig::Recommend(
            ToDemand(prediction, program.name()), predictor.device(), rule);
        reports.push_back(MakeReport(
            {program.name(), std::string(program.format()), trace.warnings},
            trace.graph, std::move(prediction), std::move(recommendation)));
        reports.back().grad_mode_mib = grad_mode_mib;
      });
  if (options.json) {
    std::cout << DumpJson(ReportsToJson(reports, errors)) << "\n";
  } else if (options.csv) {
    std::cout << FormatCsv(reports);
  } else {
    std::cout << FormatReports(reports);
  }
  for (const ReportError& error : errors) PrintError(error.message);
  return errors.empty() ? kExitOk : kExitModelFailed;
}

}  // namespace

void AddPredict(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand(
      "predict", "Memory, latency, energy and MIG profile of models");
  command->footer(kPredictExamples);
  options->model.AddTo(*command, /*many=*/true);
  options->predictor.AddTo(*command, options->model.run);
  command
      ->add_option("--mig-rule", options->mig_rule,
                   "usable-memory, or dippm: thresholds of the DIPPM paper")
      ->check(CLI::IsMember({"usable-memory", "dippm"}))
      ->capture_default_str();
  CLI::Option* json =
      command->add_flag("--json", options->json, "JSON document on stdout");
  command->add_flag("--csv", options->csv, "One line per result on stdout")
      ->excludes(json);
  command->callback(
      [options, &exit_code] { exit_code = RunPredict(*options); });
}

}  // namespace foretell::cli
