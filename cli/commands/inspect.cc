#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>
#include <string>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/command.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "cli/print/print_graph.h"
#include "cli/print/progress_bar.h"
#include "foretell/graph_io.h"
#include "src/core/json_text.h"
#include "src/judge/report_json.h"

namespace foretell::cli {
namespace {

constexpr char kInspectExamples[] =
    "Examples:\n"
    "  foretell inspect resnet50.onnx --batch 8\n"
    "  foretell inspect resnet50.onnx --batch 8 --tree\n"
    "  foretell inspect resnet50.onnx --batch 8 --format json\n"
    "  foretell inspect resnet50.onnx --batch 8 --format dot | dot -Tsvg";

struct InspectOptions {
  ModelOptions model;
  PredictorFlags predictor;
  std::string format = "text";
};

std::string Format(const InspectOptions& options, const Predictor& predictor,
                   const Trace& trace) {
  const OperatorGraph& graph = trace.graph;
  if (options.format == "dot") return GraphToDot(graph);
  if (options.format == "graph") {
    return PrintGraph(graph, {.with_timeline = true});
  }
  const Prediction prediction = predictor.Predict(graph);
  if (options.format == "tree") return FormatModuleTree(graph, prediction);
  return options.format == "json"
             ? FormatGraphJson(graph, prediction, trace.warnings)
             : FormatGraphTable(graph, prediction);
}

ExitCode RunInspect(const InspectOptions& options) {
  const Predictor predictor = options.predictor.Make(options.model.run);
  const std::vector<ReportError> errors =
      ForEachStep(options.model, [&](Session& session) {
        const Trace& trace = session.Step();
        const std::string text = Format(options, predictor, trace);
        WipeProgress();
        std::cout << text;
        for (const std::string& warning : trace.warnings) {
          PrintWarning(warning);
        }
      });
  if (options.format == "json" && !errors.empty()) {
    const nlohmann::ordered_json document = {
        {"schema_version", kReportSchemaVersion},
        {"errors", ErrorsToJson(errors)}};
    std::cout << DumpJson(document) << "\n";
  }
  return PrintErrors(errors);
}

}  // namespace

void AddInspect(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand(
      "inspect", "Operators, shapes, MACs, memory and time of a model");
  command->footer(kInspectExamples);
  options->model.AddTo(*command, /*many=*/true);
  options->predictor.AddTo(*command, options->model.run);
  AddDefaulted(*command, "--format", options->format,
               "text: a table; tree: modules, also --tree; json, also --json; "
               "dot: Graphviz; graph: text form that foretell can read",
               CLI::IsMember({"text", "tree", "json", "dot", "graph"}));
  command->callback(
      [options, &exit_code] { exit_code = RunInspect(*options); });
}

}  // namespace foretell::cli
