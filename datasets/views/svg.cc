#include "datasets/views/svg.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "src/core/printable.h"

namespace foretell::dataset {
namespace {

constexpr double kWidth = 420;
constexpr double kHeight = 260;
constexpr double kMargin = 46;
constexpr double kRowHeight = 18;
constexpr double kNameWidth = 130;

std::string Short(double value) {
  std::ostringstream text;
  text.precision(3);
  text << value;
  return text.str();
}

std::string Open(double width, double height) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + Short(width) +
         "\" height=\"" + Short(height) + "\" role=\"img\">\n";
}

std::string Label(double x, double y, const char* anchor,
                  const std::string& text) {
  return "<text x=\"" + Short(x) + "\" y=\"" + Short(y) + "\" text-anchor=\"" +
         anchor + "\">" + Escaped(text) + "</text>\n";
}

std::string Bar(double x, double y, double width, double height) {
  return "<rect x=\"" + Short(x) + "\" y=\"" + Short(y) + "\" width=\"" +
         Short(std::max(width, 0.0)) + "\" height=\"" +
         Short(std::max(height, 0.0)) + "\"/>\n";
}

/// Maps logarithms of [low, high] to pixels.
class LogAxis {
 public:
  LogAxis(double low, double high, double from, double to)
      : low_(std::log10(low)), high_(std::log10(high)), from_(from), to_(to) {
    if (high_ - low_ < 1e-9) high_ = low_ + 1;
  }

  double At(double value) const {
    return from_ + (to_ - from_) * (std::log10(value) - low_) / (high_ - low_);
  }
  /// Powers of ten, at most about six, else the two ends.
  std::vector<double> Ticks() const {
    std::vector<double> ticks;
    const double step = std::max(1.0, std::ceil((high_ - low_) / 6));
    for (double power = std::ceil(low_ - 1e-9); power <= high_ + 1e-9;
         power += step) {
      ticks.push_back(std::pow(10, power));
    }
    if (ticks.size() < 2) {
      ticks = {std::pow(10, low_), std::pow(10, high_)};
    }
    return ticks;
  }

 private:
  double low_;
  double high_;
  double from_;
  double to_;
};

std::string HorizontalTicks(const LogAxis& axis) {
  std::string text;
  for (const double tick : axis.Ticks()) {
    text += Label(axis.At(tick), kHeight - kMargin + 16, "middle", Short(tick));
  }
  return text;
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : Printable(text)) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string BarChart(const std::vector<std::pair<std::string, double>>& bars) {
  double largest = 0;
  for (const auto& [name, value] : bars) largest = std::max(largest, value);
  const double room = kWidth - kNameWidth - kMargin;
  std::string svg =
      Open(kWidth, kRowHeight * static_cast<double>(bars.size()) + 4);
  double y = 0;
  for (const auto& [name, value] : bars) {
    const double length = largest > 0 ? room * value / largest : 0;
    svg += Label(kNameWidth - 6, y + 13, "end", name);
    svg += Bar(kNameWidth, y + 3, length, kRowHeight - 5);
    svg += Label(kNameWidth + length + 4, y + 13, "start", Short(value));
    y += kRowHeight;
  }
  return svg + "</svg>\n";
}

std::string HistogramChart(const std::vector<std::int64_t>& counts, double low,
                           double high) {
  if (counts.empty() || low <= 0) return {};
  const std::int64_t largest = *std::ranges::max_element(counts);
  const LogAxis axis(low, high, kMargin, kWidth - 10);
  const double step =
      (kWidth - 10 - kMargin) / static_cast<double>(counts.size());
  const double room = kHeight - 2 * kMargin;
  std::string svg = Open(kWidth, kHeight);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double height =
        room * static_cast<double>(counts[i]) /
        static_cast<double>(std::max<std::int64_t>(largest, 1));
    svg += Bar(kMargin + step * static_cast<double>(i),
               kHeight - kMargin - height, step - 1, height);
  }
  svg += Label(kMargin - 6, kMargin + 4, "end", std::to_string(largest));
  return svg + HorizontalTicks(axis) + "</svg>\n";
}

std::string ScatterChart(const std::vector<std::pair<double, double>>& points,
                         const std::string& x_name, const std::string& y_name) {
  if (points.empty()) return {};
  const auto [left, right] = std::ranges::minmax(
      points, {}, [](const auto& point) { return point.first; });
  const auto [bottom, top] = std::ranges::minmax(
      points, {}, [](const auto& point) { return point.second; });
  const LogAxis x(left.first, right.first, kMargin, kWidth - 10);
  const LogAxis y(bottom.second, top.second, kHeight - kMargin, 20);
  std::string svg = Open(kWidth, kHeight);
  for (const auto& [across, up] : points) {
    svg += "<circle cx=\"" + Short(x.At(across)) + "\" cy=\"" +
           Short(y.At(up)) + "\" r=\"1.5\"/>\n";
  }
  for (const double tick : y.Ticks()) {
    svg += Label(kMargin - 6, y.At(tick) + 4, "end", Short(tick));
  }
  svg += Label(kWidth / 2, kHeight - 10, "middle", x_name);
  svg += Label(4, 12, "start", y_name);
  return svg + HorizontalTicks(x) + "</svg>\n";
}

}  // namespace foretell::dataset
