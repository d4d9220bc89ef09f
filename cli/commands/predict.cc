#include <CLI/CLI.hpp>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/answer_trace.h"
#include "cli/commands/command.h"
#include "cli/commands/suggest_change.h"
#include "cli/flags/loop_flags.h"
#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "cli/print/print_report.h"
#include "cli/print/terminal_style.h"
#include "foretell/mig.h"
#include "foretell/predictor.h"
#include "src/core/json_text.h"
#include "src/core/output_file.h"
#include "src/page/html_page.h"
#include "src/pictures/step_json.h"
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
  bool verbose = false;
  bool no_color = false;
  std::string html;
};

bool IsOne(const ModelOptions& model) {
  return model.models.size() == 1 && model.batches.size() <= 1;
}

/// One result is printed in full, and so is JSON.
bool IsInFull(const PredictOptions& options) {
  return options.json || (!options.csv && IsOne(options.model));
}

/// What forgetting torch.no_grad() would cost takes a second trace.
bool SaysGradMode(const PredictOptions& options) {
  return IsInFull(options) &&
         (options.json || options.verbose || !options.html.empty());
}

/// Writes the page: one result in full, several beside each other.
class PredictPage {
 public:
  explicit PredictPage(const PredictOptions& options) : options_(options) {}

  void Look(const Report& report, const Trace& trace,
            const DeviceSpec& device) {
    if (options_.html.empty() || !IsOne(options_.model)) return;
    step_ = pictures::StepToJson(report, trace.graph, device);
  }
  void Write(const std::vector<Report>& reports,
             const std::vector<ReportError>& errors) const {
    if (options_.html.empty()) return;
    const bool has_step = !step_.is_null();
    WriteWhole(options_.html,
               HtmlPage(has_step ? PageView::kStep : PageView::kPredictions,
                        has_step ? reports.front().model : "foretell predict",
                        has_step ? step_ : ReportsToJson(reports, errors)));
  }

 private:
  const PredictOptions& options_;
  nlohmann::ordered_json step_;  ///< Null until there is one.
};

std::vector<std::string> SetupOf(const PredictOptions& options) {
  std::vector<std::string> words = LoopWords(options.model.loop);
  if (options.predictor.expandable_segments) {
    words.emplace_back("--expandable-segments");
  }
  return words;
}

ExitCode RunPredict(const PredictOptions& options) {
  const Predictor predictor = options.predictor.Make(options.model.run);
  const mig::RecommendOptions rule{.rule = *mig::ParseRule(options.mig_rule)};
  const std::vector<TraceOptions> in_grad_mode =
      SaysGradMode(options) ? TraceInGradMode(options.model)
                            : std::vector<TraceOptions>();
  std::vector<Report> reports;
  PredictPage page(options);
  ChangeFinder changes(options.model, options.predictor);
  const std::vector<ReportError> errors = ForEachTrace(
      options.model,
      [&](const Program& program, const Trace& trace) {
        reports.push_back(
            AnswerTrace(predictor, program, trace,
                        {.mig = rule, .in_grad_mode = in_grad_mode}));
        reports.back().setup = SetupOf(options);
        if (IsInFull(options)) {
          reports.back().suggestion =
              changes.Find(program, trace, reports.back());
        }
        page.Look(reports.back(), trace, predictor.device());
      },
      in_grad_mode);
  page.Write(reports, errors);
  if (options.json) {
    std::cout << DumpJson(ReportsToJson(reports, errors)) << "\n";
  } else if (options.csv) {
    std::cout << FormatCsv(reports);
  } else {
    std::cout << FormatReports(reports, StyleOfStdout(options.no_color),
                               options.verbose ? Detail::kAll
                                               : Detail::kSummary);
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
  command->add_flag("-v,--verbose", options->verbose,
                    "Every figure and all MIG profiles, not the summary alone");
  command->add_flag("--no-color", options->no_color,
                    "Text without color on a terminal too, as with NO_COLOR");
  command->add_option("--html", options->html,
                      "Page with pictures, written beside the output");
  command->callback([options, &exit_code] {
    exit_code = AnswerForModels(
        options->model.models, [&] { return RunPredict(*options); },
        options->json ? &NoResults : nullptr);
  });
}

}  // namespace foretell::cli
