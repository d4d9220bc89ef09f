// An evaluation as text, Markdown, JSON and CSV. Text and Markdown are the same
// tables, and differ only in how a table is drawn.

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "src/core/csv.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text.h"
#include "src/core/text_table.h"
#include "src/page/html_page.h"
#include "training/judge/evaluation.h"

namespace foretell::training {
namespace {

using OrderedJson = nlohmann::ordered_json;
using learned::Target;

constexpr int kEvaluationSchemaVersion = 1;
/// More dots than these show nothing more, and make the page large.
constexpr std::size_t kMaxDotsOfTarget = 800;
/// Errors of a page are rounded to a whole number of these parts of 1.
constexpr double kErrorParts = 1e4;

std::string Percent(double share) {
  return std::isfinite(share) ? FormatPercent(share, 2) : "-";
}

std::string Plain(double value) {
  return std::isfinite(value) ? FormatNumber(value, 4) : "-";
}

std::string Header(const Evaluation& evaluation) {
  std::string labels;
  for (const auto& [provenance, count] : evaluation.provenance) {
    labels +=
        fmt::format("{}{} {}", labels.empty() ? "" : ", ", count, provenance);
  }
  return fmt::format(
      "method: {}\ndataset: {} ({})\nlabels: {}; of {}; from {}\n",
      evaluation.method, Printable(evaluation.dataset), evaluation.selection,
      labels, Printable(Joined(evaluation.devices)),
      Printable(Joined(evaluation.sources)));
}

TextTable TargetTable(const Evaluation& evaluation) {
  TextTable table({"target", "n", "MAPE", "median APE", "R2", "R2 (log)",
                   "Spearman", "underestimated", "in interval"});
  for (const TargetAccuracy& one : evaluation.targets) {
    table.AddRow({std::string(TargetName(one.target)),
                  fmt::format("{}", one.count), Percent(one.mape),
                  Percent(one.median_ape), Plain(one.r2), Plain(one.r2_log),
                  Plain(one.spearman), Percent(one.underestimated),
                  Percent(one.coverage)});
  }
  if (evaluation.targets.size() > 1) {
    std::int64_t labels = 0;
    for (const TargetAccuracy& one : evaluation.targets) labels += one.count;
    table.AddRow({"pooled", fmt::format("{}", labels),
                  Percent(evaluation.pooled_mape), "", "", "", "", "", ""});
  }
  return table;
}

TextTable FitTable(const Evaluation& evaluation) {
  TextTable table(
      {"fits", "usable MiB", "truly", "predicted", "recall", "precision"});
  for (const FitDecision& one : evaluation.fits) {
    table.AddRow({one.profile.empty() ? "whole device" : one.profile,
                  fmt::format("{}", one.usable_mib),
                  fmt::format("{}", one.fits), fmt::format("{}", one.predicted),
                  Percent(one.Recall()), Percent(one.Precision())});
  }
  return table;
}

TextTable FamilyTable(const Evaluation& evaluation) {
  std::vector<std::string> header = {"family"};
  for (const TargetAccuracy& one : evaluation.targets) {
    const std::string name(TargetName(one.target));
    header.insert(header.end(),
                  {name + " n", name + " MAPE", name + " median"});
  }
  TextTable table(std::move(header));
  for (const FamilyAccuracy& family : evaluation.families) {
    std::vector<std::string> row = {family.family};
    for (const TargetAccuracy& column : evaluation.targets) {
      const auto found = std::ranges::find(family.targets, column.target,
                                           &TargetAccuracy::target);
      const bool has = found != family.targets.end();
      row.push_back(has ? fmt::format("{}", found->count) : "0");
      row.push_back(has ? Percent(found->mape) : "-");
      row.push_back(has ? Percent(found->median_ape) : "-");
    }
    table.AddRow(std::move(row));
  }
  return table;
}

std::string Tables(const Evaluation& evaluation,
                   std::string (TextTable::*draw)() const) {
  std::string text = (TargetTable(evaluation).*draw)() + "\n";
  if (!evaluation.fits.empty()) text += (FitTable(evaluation).*draw)() + "\n";
  text += (FamilyTable(evaluation).*draw)();
  return text;
}

OrderedJson TargetsToJson(const std::vector<TargetAccuracy>& targets) {
  OrderedJson list = OrderedJson::array();
  for (const TargetAccuracy& one : targets) {
    list.push_back({{"target", TargetName(one.target)},
                    {"count", one.count},
                    {"mape", JsonNumber(one.mape)},
                    {"median_ape", JsonNumber(one.median_ape)},
                    {"r2", JsonNumber(one.r2)},
                    {"r2_log", JsonNumber(one.r2_log)},
                    {"spearman", JsonNumber(one.spearman)},
                    {"underestimated", JsonNumber(one.underestimated)},
                    {"coverage", JsonNumber(one.coverage)}});
  }
  return list;
}

OrderedJson FitsToJson(const std::vector<FitDecision>& fits) {
  OrderedJson list = OrderedJson::array();
  for (const FitDecision& one : fits) {
    list.push_back({{"profile", one.profile},
                    {"usable_mib", one.usable_mib},
                    {"fits", one.fits},
                    {"predicted", one.predicted},
                    {"both", one.both},
                    {"recall", JsonNumber(one.Recall())},
                    {"precision", JsonNumber(one.Precision())}});
  }
  return list;
}

OrderedJson EvaluationDocument(const Evaluation& evaluation) {
  OrderedJson families = OrderedJson::array();
  for (const FamilyAccuracy& family : evaluation.families) {
    families.push_back({{"family", family.family},
                        {"targets", TargetsToJson(family.targets)}});
  }
  return {{"schema_version", kEvaluationSchemaVersion},
          {"method", evaluation.method},
          {"dataset", evaluation.dataset},
          {"selection", evaluation.selection},
          {"devices", evaluation.devices},
          {"sources", evaluation.sources},
          {"provenance", evaluation.provenance},
          {"samples", evaluation.samples},
          {"pooled_mape", JsonNumber(evaluation.pooled_mape)},
          {"targets", TargetsToJson(evaluation.targets)},
          {"fits", FitsToJson(evaluation.fits)},
          {"families", std::move(families)}};
}

std::vector<const PredictedSample*> Known(
    std::span<const PredictedSample> predictions, Target target) {
  std::vector<const PredictedSample*> known;
  for (const PredictedSample& one : predictions) {
    if (one.Has(target)) known.push_back(&one);
  }
  return known;
}

/// (predicted - label) / label of every label of the target, rounded: used for
/// the page's counts, even if it draws fewer points.
OrderedJson PageErrors(std::span<const PredictedSample> predictions,
                       Target target) {
  OrderedJson errors = OrderedJson::array();
  for (const PredictedSample* one : Known(predictions, target)) {
    const double label = ValueOf(one->truth, target);
    if (!(label > 0)) continue;
    const double error = ValueOf(one->predicted, target) / label - 1;
    errors.push_back(JsonNumber(std::round(error * kErrorParts) / kErrorParts));
  }
  return errors;
}

/// Adds predictions of a target to the dots of a page.
void AddDots(const SampleSet& set, std::span<const PredictedSample> predictions,
             Target target, OrderedJson& rows) {
  const std::vector<const PredictedSample*> known = Known(predictions, target);
  const std::size_t every = known.size() / kMaxDotsOfTarget + 1;
  for (std::size_t i = 0; i < known.size(); i += every) {
    const Sample& sample = set.samples[known[i]->sample];
    rows.push_back(
        {{"target", TargetName(target)},
         {"model", sample.model},
         {"family", sample.family},
         {"batch", sample.batch},
         {"label", JsonNumber(ValueOf(known[i]->truth, target))},
         {"prediction", JsonNumber(ValueOf(known[i]->predicted, target))}});
  }
}

}  // namespace

std::string EvaluationToText(const Evaluation& evaluation) {
  std::string text = Header(evaluation);
  text += "\n";
  text += Tables(evaluation, &TextTable::ToString);
  return text;
}

std::string EvaluationToMarkdown(const Evaluation& evaluation) {
  std::istringstream header(Header(evaluation));
  std::string text;
  for (std::string line; std::getline(header, line);) {
    text.append("- ").append(line).append("\n");
  }
  text += "\n";
  text += Tables(evaluation, &TextTable::ToMarkdown);
  return text;
}

std::string EvaluationToJson(const Evaluation& evaluation) {
  return DumpJson(EvaluationDocument(evaluation)) + "\n";
}

std::string EvaluationToHtml(const Evaluation& evaluation, const SampleSet& set,
                             std::span<const PredictedSample> predictions) {
  OrderedJson rows = OrderedJson::array();
  OrderedJson errors = OrderedJson::object();
  for (const Target target : learned::kAllTargets) {
    AddDots(set, predictions, target, rows);
    errors[TargetName(target)] = PageErrors(predictions, target);
  }
  return HtmlPage(PageView::kEvaluation, "foretell evaluate",
                  {{"evaluation", EvaluationDocument(evaluation)},
                   {"predictions", std::move(rows)},
                   {"errors", std::move(errors)}});
}

std::string PredictionsToCsv(const SampleSet& set,
                             std::span<const PredictedSample> predictions,
                             std::span<const Target> targets) {
  std::string csv =
      "model,family,batch,macs,device,environment,source,provenance,target,"
      "label,prediction,lo,hi\n";
  for (const PredictedSample& one : predictions) {
    const Sample& sample = set.samples[one.sample];
    for (const Target target : targets) {
      const double truth = ValueOf(one.truth, target);
      if (!learned::IsKnown(truth)) continue;
      const auto& interval = one.intervals[static_cast<std::size_t>(target)];
      csv += CsvLine(std::to_array<std::string>(
          {sample.model, sample.family, fmt::format("{}", sample.batch),
           fmt::format("{}", sample.macs), set.devices[sample.device],
           set.settings[sample.setting], set.sources[sample.source],
           std::string(ProvenanceName(sample.provenance)),
           std::string(TargetField(target)), FormatExact(truth),
           FormatExact(ValueOf(one.predicted, target)),
           interval ? FormatExact(interval->lo) : "",
           interval ? FormatExact(interval->hi) : ""}));
    }
  }
  return csv;
}

}  // namespace foretell::training
