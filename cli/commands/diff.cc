#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/answer_trace.h"
#include "cli/commands/command.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "cli/print/print_difference.h"
#include "cli/print/print_snapshot.h"
#include "src/core/document_kind.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"
#include "src/core/parse_json.h"
#include "src/judge/report_json.h"
#include "src/page/html_page.h"
#include "src/pictures/step_difference.h"
#include "src/pictures/step_json.h"
#include "src/snapshot/memory_snapshot.h"
#include "src/snapshot/snapshot_difference.h"

namespace foretell::cli {
namespace {

constexpr char kDiffExamples[] =
    "A and B are models, or documents that `foretell report --json` wrote:\n"
    "with other flags, of another version, on another day. One of them may be\n"
    "a snapshot of torch.cuda.memory._dump_snapshot.\n"
    "Examples:\n"
    "  foretell diff old.onnx new.onnx --batch 8\n"
    "  foretell diff model.onnx --batch 8,16\n"
    "  foretell report model.onnx --batch 8 --precision fp16 --json > a.json\n"
    "  foretell diff a.json model.onnx --batch 8\n"
    "  foretell diff snapshot.pickle model.onnx --batch 8 --mode training";

struct DiffCommand {
  ModelOptions model;
  PredictorFlags predictor;
  std::size_t modules = 20;
  bool json = false;
  std::string html;
};

/// One of the two steps that are compared.
struct Side {
  std::string name;
  std::vector<std::int64_t> batches;  ///< One or none.
};

/// A and B: two models, one of two batch sizes, or two of one each.
std::vector<Side> SidesOf(const ModelOptions& model) {
  std::vector<std::string> names = model.models;
  std::vector<std::int64_t> batches = model.batches;
  const bool is_pair = names.size() == 2 || batches.size() == 2;
  if (!is_pair || names.size() > 2 || batches.size() > 2) {
    throw InvalidArgument("diff got {} and {}, expected exactly two in total",
                          Counted(names.size(), "model"),
                          Counted(batches.size(), "batch size"));
  }
  if (names.size() == 1) names.push_back(names.front());
  if (batches.size() == 1) batches.push_back(batches.front());
  if (batches.empty()) return {{names[0], {}}, {names[1], {}}};
  return {{names[0], {batches[0]}}, {names[1], {batches[1]}}};
}

nlohmann::ordered_json ReadStep(const std::string& path) {
  const nlohmann::json document = ParseJson(ReadText(path), path);
  RefuseOtherKind(document, path, {DocumentKind::kStep});
  nlohmann::ordered_json step = document;
  pictures::CheckStep(step, path);
  return step;
}

/// Empty where the model failed, which is then one of `errors`.
std::optional<nlohmann::ordered_json> StepOf(
    const DiffCommand& command, const Predictor& predictor, const Side& side,
    std::vector<ReportError>& errors,
    const pictures::TimelineLimits& limits = {}) {
  if (side.name.ends_with(".json")) return ReadStep(side.name);
  ModelOptions model = command.model;
  model.models = {side.name};
  model.batches = side.batches;
  std::optional<nlohmann::ordered_json> document;
  const std::vector<ReportError> own =
      ForEachStep(model, [&](Session& session) {
        const Report report = AnswerStep(predictor, session);
        document = pictures::StepToJson(report, session.Step().graph,
                                        predictor.device(), limits);
      });
  errors.insert(errors.end(), own.begin(), own.end());
  return document;
}

ExitCode RefuseDiff(const DiffCommand& command,
                    const std::vector<ReportError>& errors) {
  if (command.json) std::cout << DumpJson(ReportsToJson({}, errors)) << "\n";
  return PrintErrors(errors);
}

/// Moments and tensors of a step of which none is left out.
constexpr std::size_t kWholeStep = 1'000'000;

/// Answers for a snapshot and the step of `predicted`.
ExitCode RunSnapshotDiff(const DiffCommand& command, const Side& recorded,
                         const Side& predicted) {
  if (!command.html.empty() || snapshot::IsSnapshotFile(predicted.name)) {
    throw InvalidArgument(
        "a snapshot is compared with a model or a document, as text or --json");
  }
  const snapshot::MemorySnapshot memory = snapshot::ReadSnapshot(recorded.name);
  const Predictor predictor = command.predictor.Make(command.model.run);
  std::vector<ReportError> errors;
  const auto step = StepOf(command, predictor, predicted, errors,
                           {.moments = kWholeStep, .tensors = kWholeStep});
  if (!step) return RefuseDiff(command, errors);
  const nlohmann::ordered_json difference = snapshot::SnapshotDifference(
      memory, recorded.name, *step, predicted.name);
  std::cout << (command.json
                    ? DumpJson(difference) + "\n"
                    : FormatSnapshotDifference(difference, command.modules));
  return kExitOk;
}

/// Files have batches of their own: a network exported with a batch of 4, and
/// one that leaves it open, which is then 1.
void WarnOfOtherBatches(const ModelOptions& model,
                        const nlohmann::ordered_json& difference) {
  const nlohmann::ordered_json& a = difference.at("a").at("batch");
  const nlohmann::ordered_json& b = difference.at("b").at("batch");
  if (!model.batches.empty() || a == b) return;
  PrintWarning(fmt::format(
      "the batches differ: A has {}, B has {}; --batch N gives both the same",
      a.dump(), b.dump()));
}

ExitCode RunDiff(const DiffCommand& command) {
  const std::vector<Side> sides = SidesOf(command.model);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (snapshot::IsSnapshotFile(sides[i].name)) {
      return RunSnapshotDiff(command, sides[i], sides[1 - i]);
    }
  }
  const Predictor predictor = command.predictor.Make(command.model.run);
  std::vector<ReportError> errors;
  const auto a = StepOf(command, predictor, sides[0], errors);
  const auto b = StepOf(command, predictor, sides[1], errors);
  if (!a || !b) return RefuseDiff(command, errors);
  const nlohmann::ordered_json difference = pictures::DifferenceToJson(*a, *b);
  WarnOfOtherBatches(command.model, difference);
  if (!command.html.empty()) {
    WriteWhole(command.html,
               HtmlPage(PageView::kDifference, "foretell diff", difference));
  }
  std::cout << (command.json ? DumpJson(difference) + "\n"
                             : FormatDifference(difference, command.modules));
  return kExitOk;
}

}  // namespace

void AddDiff(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<DiffCommand>();
  CLI::App* command = app.add_subcommand(
      "diff", "What changes from one model, batch or version to another");
  command->footer(kDiffExamples);
  options->model.AddTo(*command, /*many=*/true);
  command->get_option("MODEL")->expected(1, 2);
  options->predictor.AddTo(*command, options->model.run);
  AddDefaulted(*command, "--modules", options->modules,
               "Number of modules to list");
  CLI::Option* json =
      command->add_flag("--json", options->json, "JSON document on stdout");
  json->excludes("--modules");
  command->add_option("--html", options->html,
                      "Page with tables that can be sorted");
  AnswerBy(&RunDiff, options, *command, exit_code);
}

}  // namespace foretell::cli
