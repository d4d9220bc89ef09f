#include "cli/commands/predict_in_jobs.h"

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/flags/model_options.h"
#include "cli/print/print_report.h"
#include "cli/print/progress_bar.h"
#include "foretell/trace.h"
#include "src/core/json_text.h"
#include "src/judge/report_json.h"
#include "src/sandbox/pool.h"

namespace foretell::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Files have a time limit of their own (--timeout).
constexpr double kDeadlineSeconds = 1e6;

/// Without the header, which is printed once.
std::string CsvLines(std::span<const Report> reports) {
  const std::string text = FormatCsv(reports);
  return text.substr(text.find('\n') + 1);
}

/// The document of one model, with its lines instead of results for CSV.
std::string Pack(const Predictions& predictions, JobsOutput output) {
  if (output == JobsOutput::kJson) {
    return ReportsToJson(predictions.reports, predictions.errors).dump();
  }
  return AnswersToJson(CsvLines(predictions.reports), predictions.errors)
      .dump();
}

/// What the process of `model` sent, or why it sent nothing.
Json Unpack(const std::string& model, const sandbox::Outcome& outcome) {
  if (outcome.kind == sandbox::Outcome::Kind::kDone) {
    return Json::parse(outcome.text);
  }
  const ReportError error{model, outcome.code, model + ": " + outcome.text};
  return AnswersToJson(Json::array(), {&error, 1});
}

void PrintAll(const std::vector<Json>& parts, JobsOutput output) {
  if (output == JobsOutput::kCsv) {
    std::cout << FormatCsv({});
    for (const Json& part : parts) {
      if (part["results"].is_string()) {
        std::cout << part["results"].get<std::string>();
      }
    }
    return;
  }
  Json whole = AnswersToJson(Json::array(), {});
  for (const Json& part : parts) {
    for (const char* list : {"results", "errors"}) {
      whole[list].insert(whole[list].end(), part[list].begin(),
                         part[list].end());
    }
  }
  std::cout << DumpJson(whole) << "\n";
}

}  // namespace

ExitCode PredictInJobs(
    std::span<const std::string> models, int jobs, JobsOutput output,
    const std::function<Predictions(const std::string& model)>& predict) {
  InitializeTracing();
  std::vector<std::int64_t> tasks(models.size());
  std::iota(tasks.begin(), tasks.end(), 0);
  std::vector<Json> parts(models.size());
  ProgressBar progress;
  std::int64_t done = 0;
  std::int64_t failed = 0;
  sandbox::RunInWorkers(
      tasks, {.workers = jobs, .deadline_s = kDeadlineSeconds},
      [&](std::int64_t task) {
        return Pack(predict(models[static_cast<std::size_t>(task)]), output);
      },
      [&](std::int64_t task, const sandbox::Outcome& outcome) {
        const auto at = static_cast<std::size_t>(task);
        parts[at] = Unpack(models[at], outcome);
        failed += std::ssize(parts[at]["errors"]);
        progress.Show(++done, std::ssize(tasks), failed, models[at]);
      });
  PrintAll(parts, output);
  for (const Json& part : parts) {
    for (const Json& error : part["errors"]) {
      PrintError(error["message"].get<std::string>());
    }
  }
  return failed == 0 ? kExitOk : kExitModelFailed;
}

}  // namespace foretell::cli
