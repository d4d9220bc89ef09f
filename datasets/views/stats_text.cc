// Statistics as tables for a terminal and as JSON.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "datasets/views/stats.h"
#include "datasets/views/stats_json.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"

namespace foretell::dataset {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kOutliersShown = 20;
constexpr int kDigits = 4;

std::string Families(const Stats& stats) {
  std::vector<std::string> header = {"family", "models", "points", "traced",
                                     "failed"};
  TextTable table(header);
  for (const FamilyCount& family : stats.families) {
    table.AddRow({family.family, fmt::format("{}", family.models),
                  fmt::format("{}", family.points),
                  fmt::format("{}", family.traced),
                  fmt::format("{}", family.failed)});
  }
  return table.ToString();
}

std::string Distributions(const std::vector<Distribution>& distributions) {
  TextTable table({"", "count", "min", "5 %", "median", "95 %", "max"});
  for (const Distribution& one : distributions) {
    if (one.count == 0) continue;
    table.AddRow(
        {one.name, fmt::format("{}", one.count), FormatShort(one.min, kDigits),
         FormatShort(one.p5, kDigits), FormatShort(one.median, kDigits),
         FormatShort(one.p95, kDigits), FormatShort(one.max, kDigits)});
  }
  return table.ToString();
}

std::string Coverage(const Stats& stats, const LabelCoverage& coverage) {
  std::string text = fmt::format(
      "\nLabels on {} from {} ({}): {} of {}, {} out of memory, {} failed\n{}",
      Printable(coverage.device), Printable(coverage.source),
      ProvenanceName(coverage.provenance), coverage.points,
      Counted(stats.points, "point"), coverage.out_of_memory, coverage.failed,
      Distributions(coverage.quantities));
  text += "By family:";
  for (std::size_t i = 0; i < stats.families.size(); ++i) {
    if (coverage.family_shares[i] <= 0) continue;
    text += fmt::format(" {} {}", Printable(stats.families[i].family),
                        FormatPercent(coverage.family_shares[i], 0));
  }
  return text + "\n";
}

std::string Outliers(const Stats& stats) {
  if (stats.outliers.empty()) return {};
  TextTable table(
      {"outlier", "device", "source", "quantity", "value", "expected"});
  for (std::size_t i = 0; i < std::min(stats.outliers.size(), kOutliersShown);
       ++i) {
    const Outlier& outlier = stats.outliers[i];
    table.AddRow({outlier.point, outlier.device, outlier.source,
                  outlier.quantity, FormatShort(outlier.value, kDigits),
                  FormatShort(outlier.expected, kDigits)});
  }
  return fmt::format("\n{}: {}\n{}", Counted(stats.outliers.size(), "outlier"),
                     OutlierRule(), table.ToString());
}

Json ToJson(const Distribution& distribution) {
  Json json = {{"name", distribution.name}, {"count", distribution.count}};
  if (distribution.count == 0) return json;
  json.update({{"min", distribution.min},
               {"p5", distribution.p5},
               {"median", distribution.median},
               {"p95", distribution.p95},
               {"max", distribution.max},
               {"histogram", distribution.histogram}});
  return json;
}

Json ToJson(const std::vector<Distribution>& distributions) {
  Json json = Json::array();
  for (const Distribution& one : distributions) json.push_back(ToJson(one));
  return json;
}

Json ToJson(const Stats& stats, const LabelCoverage& coverage) {
  Json families = Json::object();
  for (std::size_t i = 0; i < stats.families.size(); ++i) {
    families[stats.families[i].family] = coverage.family_shares[i];
  }
  return {{"device", coverage.device},
          {"source", coverage.source},
          {"provenance", ProvenanceName(coverage.provenance)},
          {"points", coverage.points},
          {"out_of_memory", coverage.out_of_memory},
          {"failed", coverage.failed},
          {"quantities", ToJson(coverage.quantities)},
          {"family_shares", std::move(families)}};
}

}  // namespace

std::string FormatStats(const Stats& stats) {
  std::string text = fmt::format(
      "{}: {} ({} traced, {} failed, {} untraced), {}, {}\n\n",
      Printable(stats.path), Counted(stats.points, "point"), stats.traced,
      stats.failed, stats.untraced, Counted(stats.graphs, "graph"),
      Counted(stats.labels, "label"));
  text +=
      fmt::format("{}\n{}", Families(stats), Distributions(stats.graph_sizes));
  for (const LabelCoverage& coverage : stats.coverage) {
    text += Coverage(stats, coverage);
  }
  text += Outliers(stats);
  for (const std::string& split : stats.splits) {
    text += "\nsplit " + Printable(split);
  }
  return stats.splits.empty() ? text : text + "\n";
}

Json StatsDocument(const Stats& stats, std::size_t most) {
  Json json = {{"path", stats.path},
               {"points", stats.points},
               {"traced", stats.traced},
               {"failed", stats.failed},
               {"untraced", stats.untraced},
               {"graphs", stats.graphs},
               {"labels", stats.labels},
               {"families", Json::array()},
               {"graph_sizes", ToJson(stats.graph_sizes)},
               {"coverage", Json::array()},
               {"num_outliers", stats.outliers.size()},
               {"outlier_rule", OutlierRule()},
               {"outliers", Json::array()},
               {"splits", stats.splits}};
  for (const FamilyCount& family : stats.families) {
    json["families"].push_back({{"family", family.family},
                                {"models", family.models},
                                {"points", family.points},
                                {"traced", family.traced},
                                {"failed", family.failed}});
  }
  for (const LabelCoverage& coverage : stats.coverage) {
    json["coverage"].push_back(ToJson(stats, coverage));
  }
  for (std::size_t i = 0; i < std::min(most, stats.outliers.size()); ++i) {
    const Outlier& outlier = stats.outliers[i];
    json["outliers"].push_back({{"point", outlier.point},
                                {"device", outlier.device},
                                {"source", outlier.source},
                                {"quantity", outlier.quantity},
                                {"value", outlier.value},
                                {"expected", outlier.expected}});
  }
  return json;
}

std::string StatsToJson(const Stats& stats) {
  return DumpJson(StatsDocument(stats));
}

}  // namespace foretell::dataset
