// Statistics as a page: inline SVG, no scripts, nothing loaded from elsewhere.

#include <fmt/core.h>

#include <algorithm>

#include "datasets/views/charts.h"
#include "datasets/views/stats.h"
#include "src/core/numbers.h"
#include "src/core/svg.h"

namespace foretell::dataset {
namespace {

/// More dots than these show nothing more, and make the page large.
constexpr std::size_t kMaxDots = 2000;
constexpr std::size_t kOutliersInPage = 100;

using Cells = std::vector<std::string>;

std::string TableRow(const Cells& cells, const std::string& tag) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) {
    row += fmt::format("<{}>{}</{}>", tag, Escaped(cell), tag);
  }
  return row + "</tr>\n";
}

std::string HtmlTable(const Cells& header, const std::vector<Cells>& rows) {
  std::string table = "<table>\n" + TableRow(header, "th");
  for (const Cells& row : rows) table += TableRow(row, "td");
  return table + "</table>\n";
}

std::string FamiliesHtml(const Stats& stats) {
  std::vector<std::pair<std::string, double>> bars;
  for (const FamilyCount& family : stats.families) {
    bars.emplace_back(family.family, static_cast<double>(family.points));
  }
  return "<h2>Points by family</h2>\n" + BarChart(bars);
}

std::string Histograms(const std::vector<Distribution>& distributions) {
  std::string html;
  for (const Distribution& one : distributions) {
    html += HtmlFigure(fmt::format("{} ({})", one.name, one.count),
                       HistogramChart(one.histogram, one.min, one.max));
  }
  return html;
}

/// Coverage by family: a row per family, a column per device and source.
std::string CoverageTable(const Stats& stats) {
  if (stats.coverage.empty()) return "<p>There are no labels.</p>\n";
  Cells header = {"family", "points"};
  for (const LabelCoverage& coverage : stats.coverage) {
    header.push_back(fmt::format("{} / {} / {}", coverage.device,
                                 coverage.source,
                                 ProvenanceName(coverage.provenance)));
  }
  std::vector<Cells> rows;
  for (std::size_t i = 0; i < stats.families.size(); ++i) {
    Cells row = {stats.families[i].family,
                 fmt::format("{}", stats.families[i].points)};
    for (const LabelCoverage& coverage : stats.coverage) {
      row.push_back(FormatPercent(coverage.family_shares[i], 0));
    }
    rows.push_back(std::move(row));
  }
  return HtmlTable(header, rows);
}

std::string OutliersHtml(const Stats& stats) {
  std::vector<Cells> rows;
  for (std::size_t i = 0; i < std::min(stats.outliers.size(), kOutliersInPage);
       ++i) {
    const Outlier& outlier = stats.outliers[i];
    rows.push_back({outlier.point, outlier.device, outlier.source,
                    outlier.quantity, FormatNumber(outlier.value, 3),
                    FormatNumber(outlier.expected, 3)});
  }
  return fmt::format("<h2>Outliers: {}</h2>\n{}", stats.outliers.size(),
                     rows.empty() ? ""
                                  : HtmlTable({"point", "device", "source",
                                               "quantity", "value", "expected"},
                                              rows));
}

std::string Picture(const Scatter& scatter) {
  std::vector<std::pair<double, double>> dots;
  const std::size_t every = 1 + (scatter.labels.size() - 1) / kMaxDots;
  for (std::size_t i = 0; i < scatter.labels.size(); i += every) {
    dots.emplace_back(scatter.labels[i].macs, scatter.labels[i].value);
  }
  return HtmlFigure(scatter.title,
                    ScatterChart(dots, "multiply-accumulates", ""));
}

}  // namespace

std::string StatsToHtml(const Stats& stats) {
  std::string html = HtmlHead("foretell dataset");
  html += fmt::format("<h1>{}</h1>\n", Escaped(stats.path));
  html += HtmlTable(
      {"points", "traced", "failed", "untraced", "graphs", "labels"},
      {{fmt::format("{}", stats.points), fmt::format("{}", stats.traced),
        fmt::format("{}", stats.failed), fmt::format("{}", stats.untraced),
        fmt::format("{}", stats.graphs), fmt::format("{}", stats.labels)}});
  html += FamiliesHtml(stats);
  html += "<h2>Graphs</h2>\n" + Histograms(stats.graph_sizes);
  html += "<h2>Labels</h2>\n" + CoverageTable(stats);
  for (const LabelCoverage& coverage : stats.coverage) {
    html += fmt::format(
        "<h3>{}</h3>\n{}",
        Escaped(fmt::format("{}, {} ({})", coverage.device, coverage.source,
                            ProvenanceName(coverage.provenance))),
        Histograms(coverage.quantities));
  }
  for (const Scatter& scatter : stats.scatters) html += Picture(scatter);
  return fmt::format("{}{}</body></html>\n", html, OutliersHtml(stats));
}

}  // namespace foretell::dataset
