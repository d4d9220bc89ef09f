// Statistics as a page: inline SVG, no scripts, nothing loaded from elsewhere.

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
    row += "<" + tag + ">" + Escaped(cell) + "</" + tag + ">";
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
    html += HtmlFigure(one.name + " (" + std::to_string(one.count) + ")",
                       HistogramChart(one.histogram, one.min, one.max));
  }
  return html;
}

/// Coverage by family: a row per family, a column per device and source.
std::string CoverageTable(const Stats& stats) {
  if (stats.coverage.empty()) return "<p>There are no labels.</p>\n";
  Cells header = {"family", "points"};
  for (const LabelCoverage& coverage : stats.coverage) {
    header.push_back(coverage.device + " / " + coverage.source + " / " +
                     std::string(ProvenanceName(coverage.provenance)));
  }
  std::vector<Cells> rows;
  for (std::size_t i = 0; i < stats.families.size(); ++i) {
    Cells row = {stats.families[i].family,
                 std::to_string(stats.families[i].points)};
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
  return "<h2>OutliersHtml: " + std::to_string(stats.outliers.size()) +
         "</h2>\n" +
         (rows.empty() ? ""
                       : HtmlTable({"point", "device", "source", "quantity",
                                    "value", "expected"},
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
  html += "<h1>" + Escaped(stats.path) + "</h1>\n";
  html +=
      HtmlTable({"points", "traced", "failed", "untraced", "graphs", "labels"},
                {{std::to_string(stats.points), std::to_string(stats.traced),
                  std::to_string(stats.failed), std::to_string(stats.untraced),
                  std::to_string(stats.graphs), std::to_string(stats.labels)}});
  html += FamiliesHtml(stats);
  html += "<h2>Graphs</h2>\n" + Histograms(stats.graph_sizes);
  html += "<h2>Labels</h2>\n" + CoverageTable(stats);
  for (const LabelCoverage& coverage : stats.coverage) {
    html += "<h3>" +
            Escaped(coverage.device + ", " + coverage.source + " (" +
                    std::string(ProvenanceName(coverage.provenance)) + ")") +
            "</h3>\n" + Histograms(coverage.quantities);
  }
  for (const Scatter& scatter : stats.scatters) html += Picture(scatter);
  return html + OutliersHtml(stats) + "</body></html>\n";
}

}  // namespace foretell::dataset
