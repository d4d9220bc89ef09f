#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/command.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/fit_flags.h"
#include "cli/flags/model_options.h"
#include "cli/flags/number_checks.h"
#include "cli/flags/run_flags.h"
#include "foretell/fit.h"
#include "src/core/failure.h"
#include "src/core/json_text.h"
#include "src/core/output_file.h"
#include "src/judge/fit_json.h"
#include "src/page/html_page.h"
#include "src/pictures/batch_points.h"
#include "src/pictures/device_json.h"

namespace foretell::cli {
namespace {

constexpr char kMaxBatchExamples[] =
    "Finds the largest batch that `foretell fits` accepts with the same "
    "flags:\n"
    "memory is judged by the upper end of its interval. The largest batch by\n"
    "the estimate itself goes to stderr. Exit status 1: not even batch 1 "
    "fits.\n"
    "Examples:\n"
    "  foretell max-batch model.onnx\n"
    "  foretell max-batch model.onnx --profile 2g.10gb --precision fp16\n"
    "  foretell max-batch model.onnx --mode training --optimizer adam\n"
    "  foretell max-batch model.onnx --max-latency 20";

struct MaxBatchOptions {
  ModelOptions model;
  PredictorFlags predictor;
  FitLimits limits;
  std::int64_t most = 65536;
  bool json = false;
  std::string html;
};

/// What was found, and what was tried on the way.
struct Search {
  LargestBatchOfModel found;
  std::map<std::int64_t, Prediction> tried;
  std::string refusal;  ///< Why the model accepts no larger batch; or empty.
};

nlohmann::ordered_json NoLargestBatch(const ReportError& error) {
  return LargestBatchesToJson({}, {&error, 1});
}

void Print(const Search& search, bool as_json) {
  const LargestBatchOfModel& found = search.found;
  if (as_json) {
    std::cout << DumpJson(LargestBatchesToJson({&found, 1}, {})) << "\n";
    return;
  }
  std::cout << found.batch << "\n";
  if (found.likely_batch > found.batch) {
    PrintNote(fmt::format(
        "note: batch {} surely fits, by the upper end of the predicted memory; "
        "up to {} likely, by the estimate",
        found.batch, found.likely_batch));
  }
  if (found.batch == found.most) {
    PrintNote(fmt::format("note: batch {} is the limit of the search (--limit)",
                          found.batch));
  }
  for (const std::string& warning : found.warnings) {
    PrintWarning(found.model + ": " + warning);
  }
  if (!search.refusal.empty()) {
    PrintNote("note: the model accepts no larger batch: " + search.refusal);
  }
}

/// The page of a search: the document, the device, and what was tried.
void WriteSearchPage(const std::string& path, const Search& search,
                     const DeviceSpec& device) {
  std::vector<pictures::BatchPoint> points;
  for (const auto& [batch, prediction] : search.tried) {
    points.push_back({batch, prediction});
  }
  nlohmann::ordered_json document =
      LargestBatchesToJson({&search.found, 1}, {});
  document["device"] = pictures::DeviceToJson(device);
  document["tried"] = pictures::BatchPointsToJson(points, device);
  WriteWhole(path, HtmlPage(PageView::kBatches, search.found.model, document));
}

void RefuseLimitBelow(const BatchRange& range, const std::string& model) {
  if (range.most >= range.least) return;
  throw InvalidArgument(
      "{}: --limit is {}, and the file allows batches from {}", model,
      range.most, range.least);
}

/// By the estimate of memory, searching upwards from what surely fits.
std::int64_t LikelyBatch(const LargestBatchFound& sure, const BatchRange& range,
                         const std::function<Prediction(std::int64_t)>& predict,
                         const DeviceSpec& device, FitLimits limits) {
  if (sure.batch == range.most) return sure.batch;
  limits.by_estimate = true;
  const BatchRange rest = {.least = std::max(sure.batch, sure.least),
                           .most = range.most};
  return LargestBatch(rest, predict, device, limits).batch;
}

Search Find(const MaxBatchOptions& options, const Predictor& predictor) {
  const DeviceSpec& device = predictor.device();
  const std::string place = PlaceName(device, options.limits.profile);
  const Session session = options.model.Open(std::nullopt);
  const Program& program = session.program();
  const BatchRange range = {.least = LeastBatch(program.inputs()),
                            .most = options.most};
  RefuseLimitBelow(range, program.name());
  std::map<std::int64_t, Prediction> tried;
  const auto predict = [&](std::int64_t batch) {
    const auto known = tried.find(batch);
    if (known != tried.end()) return known->second;
    return tried[batch] = predictor.Predict(session.Graph({.batch = batch}));
  };
  LargestBatchFound found =
      LargestBatch(range, predict, device, options.limits);
  const std::int64_t likely =
      LikelyBatch(found, range, predict, device, options.limits);
  return {{.model = program.name(),
           .place = place,
           .batch = found.batch,
           .likely_batch = std::max(likely, found.batch),
           .most = options.most,
           .warnings = tried[std::max(found.batch, found.least)].AllWarnings()},
          std::move(tried),
          std::move(found.refusal)};
}

ExitCode RunMaxBatch(const MaxBatchOptions& options) {
  // The least memory of a step costs a dozen simulations, and only a tight fit
  // and the page read it.
  const Predictor predictor = options.predictor.Make(
      options.model.run, options.limits.tight || !options.html.empty());
  const Search search = Find(options, predictor);
  if (!options.html.empty()) {
    WriteSearchPage(options.html, search, predictor.device());
  }
  Print(search, options.json);
  return search.found.batch > 0 ? kExitOk : kExitDoesNotFit;
}

}  // namespace

void AddMaxBatch(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<MaxBatchOptions>();
  CLI::App* command = app.add_subcommand(
      "max-batch",
      "Largest batch size that fits a device or profile (other sizes and "
      "volumes: plan)");
  command->footer(kMaxBatchExamples);
  options->model.AddTo(*command, /*many=*/false);
  options->predictor.AddTo(*command, options->model.run);
  AddFitFlags(*command, options->limits);
  AddDefaulted(*command, "--limit", options->most, "Largest batch to try",
               AboveZero());
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->add_option("--html", options->html,
                      "Page with the batch sizes tried, in addition to the "
                      "output");
  AnswerBy(&RunMaxBatch, options, *command, exit_code, &NoLargestBatch);
}

}  // namespace foretell::cli
