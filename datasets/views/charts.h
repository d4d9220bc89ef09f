#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace foretell::dataset {

/// Horizontal bars with names in front and values behind, as an <svg> element.
std::string BarChart(const std::vector<std::pair<std::string, double>>& bars);

/// Vertical bars over a logarithmic axis from `low` to `high`.
std::string HistogramChart(const std::vector<std::int64_t>& counts, double low,
                           double high);

/// Positive points on two logarithmic axes.
std::string ScatterChart(const std::vector<std::pair<double, double>>& points,
                         const std::string& x_name, const std::string& y_name);

}  // namespace foretell::dataset
