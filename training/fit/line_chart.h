#pragma once

#include <string>
#include <utility>
#include <vector>

namespace foretell::training {

/// One line of a picture.
struct ChartLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< x and y.
};

/// What a picture shows. On a logarithmic axis, points that are not above 0 are
/// left out; points that are not finite always are.
struct LineChart {
  std::string title;
  std::string x_name;
  std::vector<ChartLine> lines;
  bool log_x = false;
  bool log_y = true;
  /// A dashed vertical line at this x, with its name; empty: none.
  std::vector<std::pair<double, std::string>> marks;
};

/// A <figure> with an <svg>, without scripts; empty without any point.
std::string DrawChart(const LineChart& chart);

/// A whole page of figures that loads nothing; `text` stands above them.
std::string ChartPage(const std::string& title, const std::string& text,
                      const std::vector<LineChart>& charts);

}  // namespace foretell::training
