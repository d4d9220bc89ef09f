#include "datasets/views/charts.h"

#include <fmt/core.h>

#include <algorithm>

#include "src/core/numbers.h"
#include "src/core/svg.h"

namespace foretell::dataset {
namespace {

constexpr double kWidth = 420;
constexpr double kHeight = 260;
constexpr double kMargin = 46;
constexpr double kRowHeight = 18;
constexpr double kNameWidth = 130;

std::string Bar(double x, double y, double width, double height) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                     FormatShort(x), FormatShort(y),
                     FormatShort(std::max(width, 0.0)),
                     FormatShort(std::max(height, 0.0)));
}

Axis LogAxis(double low, double high, double from, double to) {
  Axis axis(/*log=*/true, from, to);
  axis.Include(low);
  axis.Include(high);
  return axis;
}

std::string HorizontalTicks(const Axis& axis) {
  std::string text;
  for (const double tick : axis.Ticks()) {
    text += SvgText(axis.At(tick), kHeight - kMargin + 16, "middle",
                    FormatShort(tick));
  }
  return text;
}

}  // namespace

std::string BarChart(const std::vector<std::pair<std::string, double>>& bars) {
  double largest = 0;
  for (const auto& [name, value] : bars) largest = std::max(largest, value);
  const double room = kWidth - kNameWidth - kMargin;
  std::string svg =
      SvgOpen(kWidth, kRowHeight * static_cast<double>(bars.size()) + 4);
  double y = 0;
  for (const auto& [name, value] : bars) {
    const double length = largest > 0 ? room * value / largest : 0;
    svg += SvgText(kNameWidth - 6, y + 13, "end", name);
    svg += Bar(kNameWidth, y + 3, length, kRowHeight - 5);
    svg +=
        SvgText(kNameWidth + length + 4, y + 13, "start", FormatShort(value));
    y += kRowHeight;
  }
  return svg + "</svg>\n";
}

std::string HistogramChart(const std::vector<std::int64_t>& counts, double low,
                           double high) {
  if (counts.empty() || low <= 0) return {};
  const std::int64_t largest = *std::ranges::max_element(counts);
  const Axis axis = LogAxis(low, high, kMargin, kWidth - 10);
  const double step =
      (kWidth - 10 - kMargin) / static_cast<double>(counts.size());
  const double room = kHeight - 2 * kMargin;
  std::string svg = SvgOpen(kWidth, kHeight);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double height =
        room * static_cast<double>(counts[i]) /
        static_cast<double>(std::max<std::int64_t>(largest, 1));
    svg += Bar(kMargin + step * static_cast<double>(i),
               kHeight - kMargin - height, step - 1, height);
  }
  svg += SvgText(kMargin - 6, kMargin + 4, "end", fmt::format("{}", largest));
  return fmt::format("{}{}</svg>\n", svg, HorizontalTicks(axis));
}

std::string ScatterChart(const std::vector<std::pair<double, double>>& points,
                         const std::string& x_name, const std::string& y_name) {
  if (points.empty()) return {};
  const auto [left, right] = std::ranges::minmax(
      points, {}, [](const auto& point) { return point.first; });
  const auto [bottom, top] = std::ranges::minmax(
      points, {}, [](const auto& point) { return point.second; });
  const Axis x = LogAxis(left.first, right.first, kMargin, kWidth - 10);
  const Axis y = LogAxis(bottom.second, top.second, kHeight - kMargin, 20);
  std::string svg = SvgOpen(kWidth, kHeight);
  for (const auto& [across, up] : points) {
    svg += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"1.5\"/>\n",
                       FormatShort(x.At(across)), FormatShort(y.At(up)));
  }
  for (const double tick : y.Ticks()) {
    svg += SvgText(kMargin - 6, y.At(tick) + 4, "end", FormatShort(tick));
  }
  svg += SvgText(kWidth / 2, kHeight - 10, "middle", x_name);
  svg += SvgText(4, 12, "start", y_name);
  return fmt::format("{}{}</svg>\n", svg, HorizontalTicks(x));
}

}  // namespace foretell::dataset
