#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/answer_trace.h"
#include "cli/commands/command.h"
#include "cli/commands/suggest_change.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "src/core/failure.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"
#include "src/judge/report_json.h"
#include "src/page/html_page.h"
#include "src/pictures/batch_points.h"
#include "src/pictures/step_json.h"

namespace foretell::cli {
namespace {

constexpr char kReportExamples[] =
    "Writes figures, memory over the step, modules, kernels, MIG slices and\n"
    "batch sizes to one self-contained HTML page.\n"
    "Examples:\n"
    "  foretell report resnet50.onnx --batch 8\n"
    "  foretell report model.pt --input f32[8,3,224,224] --mode training "
    "--out training.html\n"
    "  foretell report model.pt2 --batches none --json";

constexpr char kDefaultPage[] = "report.html";

struct ReportCommand {
  ModelOptions model;
  PredictorFlags predictor;
  std::string name;
  std::string out;  ///< Empty: report.html, unless only JSON is wanted.
  std::string batches = "auto";
  bool json = false;
};

void CheckFlags(const ReportCommand& command) {
  if (command.model.batches.size() > 1) {
    throw InvalidArgument(
        "--batch names {}, expected one: a report compares batch sizes by "
        "itself",
        Counted(command.model.batches.size(), "size"));
  }
}

nlohmann::ordered_json BatchesToJson(const Predictor& predictor,
                                     const Session& session,
                                     const Report& report) {
  const auto predict = [&](std::int64_t batch) {
    if (batch == report.batch) return report.prediction;
    return predictor.Predict(session.Graph({.batch = batch}));
  };
  const pictures::BatchSweep sweep =
      pictures::SweepBatches(predict, predictor.device(), report.batch);
  return {
      {"points", pictures::BatchPointsToJson(sweep.points, predictor.device())},
      {"ended", sweep.ended}};
}

/// The page's document, and the model's name for its title.
struct Document {
  std::string title;
  nlohmann::ordered_json json;
};

Document MakeDocument(const ReportCommand& command, const Predictor& predictor,
                      Session& session) {
  Report report = AnswerStep(predictor, session, RunInGradMode(command.model));
  if (!command.name.empty()) report.model = command.name;
  report.suggestion =
      ChangeFinder(command.model, command.predictor).Find(session, report);
  Document document = {
      report.model,
      pictures::StepToJson(report, session.Step().graph, predictor.device())};
  if (command.batches == "auto") {
    document.json["batches"] = BatchesToJson(predictor, session, report);
  }
  return document;
}

ExitCode RunReport(const ReportCommand& command) {
  CheckFlags(command);
  const std::string out =
      command.out.empty() && !command.json ? kDefaultPage : command.out;
  const Predictor predictor = command.predictor.Make(command.model.run);
  std::optional<Document> document;
  const std::vector<ReportError> errors = ForEachStep(
      command.model,
      [&](Session& session) {
        document = MakeDocument(command, predictor, session);
      },
      RunInGradMode(command.model));
  if (document && !out.empty()) {
    WriteWhole(out, HtmlPage(PageView::kStep, document->title, document->json));
    if (command.out.empty()) PrintNote("wrote " + out);
  }
  if (command.json) {
    std::cout << DumpJson(document ? document->json : ReportsToJson({}, errors))
              << "\n";
  }
  return PrintErrors(errors);
}

}  // namespace

void AddReport(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<ReportCommand>();
  CLI::App* command = app.add_subcommand(
      "report",
      "Write an HTML page with charts of a model's memory, time and energy");
  command->footer(kReportExamples);
  options->model.AddTo(*command, /*many=*/true);
  command->get_option("MODEL")->expected(1);
  options->predictor.AddTo(*command, options->model.run);
  command->add_option(
      "--name", options->name,
      "Title of the model; default: its name on the command line");
  command->add_option(
      "-o,--out", options->out,
      "HTML file to write; default: report.html, none with --json");
  AddDefaulted(*command, "--batches", options->batches,
               "auto: compares batch sizes >= 1; none: only this one",
               CLI::IsMember({"auto", "none"}));
  command->add_flag("--json", options->json,
                    "Print the page's data as a JSON document on stdout");
  AnswerBy(&RunReport, options, *command, exit_code);
}

}  // namespace foretell::cli
