#include <CLI/CLI.hpp>

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/answer_trace.h"
#include "cli/commands/command.h"
#include "cli/commands/predict_in_jobs.h"
#include "cli/commands/suggest_change.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/model_options.h"
#include "cli/flags/number_checks.h"
#include "cli/flags/run_flags.h"
#include "cli/print/print_report.h"
#include "cli/print/terminal_style.h"
#include "foretell/mig.h"
#include "foretell/predictor.h"
#include "src/core/failure.h"
#include "src/core/json_text.h"
#include "src/core/output_file.h"
#include "src/judge/report.h"
#include "src/judge/report_json.h"
#include "src/page/html_page.h"
#include "src/pictures/step_json.h"

namespace foretell::cli {
namespace {

constexpr char kPredictExamples[] =
    "Examples:\n"
    "  foretell predict resnet50.onnx --batch 8\n"
    "  foretell predict bert.onnx --batch 1,8,32 --dim seq=128 --json\n"
    "  foretell predict model.pt --input f32[8,3,224,224] --mode training "
    "--optimizer adam\n"
    "  foretell predict *.onnx --batch 8 --device h100-sxm5-80gb --csv\n"
    "  foretell predict unet.pt2 + vae.pt2 + text_encoder.pt2 --batch 4\n"
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
  int jobs = 1;
};

bool IsOne(const ModelOptions& model) {
  return model.models.size() == 1 && model.batches.size() <= 1;
}

/// One result is printed in full, and so is JSON.
bool IsInFull(const PredictOptions& options) {
  return options.json || (!options.csv && IsOne(options.model));
}

/// Reporting what forgetting torch.no_grad() would cost needs a second trace.
bool SaysGradMode(const PredictOptions& options) {
  return IsInFull(options) &&
         (options.json || options.verbose || !options.html.empty());
}

/// Writes the page: one result in full, several side by side.
class PredictPage {
 public:
  explicit PredictPage(const PredictOptions& options) : options_(options) {}

  void Look(const Report& report, const OperatorGraph& graph,
            const DeviceSpec& device) {
    if (options_.html.empty() || !IsOne(options_.model)) return;
    step_ = pictures::StepToJson(report, graph, device);
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
  nlohmann::ordered_json step_;  ///< Null until a step was looked at.
};

/// Predicts models with what is made once for all of them.
class ModelPredictor {
 public:
  explicit ModelPredictor(const PredictOptions& options)
      : options_(options),
        predictor_(options.predictor.Make(options.model.run)),
        rule_{.rule = *mig::ParseRule(options.mig_rule)},
        changes_(options_.model, options_.predictor) {
    if (SaysGradMode(options)) in_grad_mode_ = RunInGradMode(options.model);
  }

  /// All of `models`, flags of the command line, at each of its batches.
  Predictions Predict(const ModelOptions& models, PredictPage& page) {
    Predictions all;
    all.errors = ForEachStep(
        models,
        [&](Session& session) {
          all.reports.push_back(ReportOf(session));
          page.Look(all.reports.back(), session.Step().graph,
                    predictor_.device());
        },
        in_grad_mode_);
    return all;
  }

 private:
  Report ReportOf(Session& session) {
    Report report = AnswerStep(predictor_, session, in_grad_mode_, rule_);
    report.setup = SetupWords(options_.model, options_.predictor);
    if (IsInFull(options_) && session.plan() == nullptr) {
      report.suggestion = changes_.Find(session, report);
    }
    return report;
  }

  const PredictOptions& options_;
  const Predictor predictor_;
  const mig::RecommendOptions rule_;
  std::optional<Run> in_grad_mode_;
  ChangeFinder changes_;
};

ExitCode RunInJobs(const PredictOptions& options) {
  if (!options.json && !options.csv) {
    throw InvalidArgument(
        "--jobs needs --json or --csv: a table lists all models at once");
  }
  options.model.WarnOfMissingLocks();
  ModelPredictor predictor(options);
  PredictPage page(options);
  ModelOptions one = options.model;
  one.is_quiet = true;
  return PredictInJobs(options.model.models, options.jobs,
                       options.json ? JobsOutput::kJson : JobsOutput::kCsv,
                       [&](const std::string& model) {
                         one.models = {model};
                         return predictor.Predict(one, page);
                       });
}

ExitCode RunPredict(const PredictOptions& options) {
  if (options.jobs > 1 && options.model.models.size() > 1) {
    return RunInJobs(options);
  }
  PredictPage page(options);
  const auto [reports, errors] =
      ModelPredictor(options).Predict(options.model, page);
  page.Write(reports, errors);
  if (options.json) {
    std::cout << DumpJson(ReportsToJson(reports, errors)) << "\n";
  } else if (options.csv) {
    std::cout << FormatCsv(reports);
  } else {
    std::cout << FormatReports(
        reports, StyleOfStdout(options.no_color),
        options.verbose ? Detail::kAll : Detail::kSummary);
  }
  return PrintErrors(errors);
}

}  // namespace

void AddPredict(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand(
      "predict", "Memory, latency, energy and MIG profile of models");
  command->footer(kPredictExamples);
  options->model.AddTo(*command, /*many=*/true);
  options->model.passes.AddTo(*command);
  options->predictor.AddTo(*command, options->model.run);
  AddDefaulted(*command, "--mig-rule", options->mig_rule,
               "usable-memory, or dippm: thresholds of the DIPPM paper",
               CLI::IsMember({"usable-memory", "dippm"}));
  CLI::Option* json =
      command->add_flag("--json", options->json, "JSON document on stdout");
  command->add_flag("--csv", options->csv, "One line per result on stdout")
      ->excludes(json);
  command->add_flag(
      "-v,--verbose", options->verbose,
      "Print every figure and all MIG profiles instead of the summary");
  command->add_flag("--no-color", options->no_color,
                    "Print without color on a terminal, as with NO_COLOR");
  CLI::Option* html =
      command->add_option("--html", options->html,
                          "HTML page with charts, in addition to the output");
  AddDefaulted(*command, "--jobs", options->jobs,
               "Number of processes for several models, with --json or --csv",
               AboveZero())
      ->excludes(html);
  AnswerBy(&RunPredict, options, *command, exit_code);
}

}  // namespace foretell::cli
