#include "training/fit/line_chart.h"

#include <fmt/core.h>

#include <array>

#include "src/core/numbers.h"
#include "src/core/svg.h"

namespace foretell::training {
namespace {

constexpr double kWidth = 520;
constexpr double kHeight = 300;
constexpr double kLeft = 60;
constexpr double kRight = 12;
constexpr double kTop = 12;
constexpr double kBottom = 44;
constexpr std::array<const char*, 6> kColors = {
    "#3b6ea5", "#c0504d", "#6a9a3b", "#8064a2", "#d08a2e", "#4bacc6"};

std::string DrawLine(const ChartLine& line, const Axis& x, const Axis& y,
                     const char* color) {
  std::string points;
  for (const auto& [across, up] : line.points) {
    if (!x.Takes(across) || !y.Takes(up)) continue;
    points +=
        fmt::format("{},{} ", FormatShort(x.At(across)), FormatShort(y.At(up)));
  }
  return fmt::format(
      R"(<polyline fill="none" stroke="{}" stroke-width="1.5" points="{}"/>)"
      "\n",
      color, points);
}

std::string DrawAxes(const LineChart& chart, const Axis& x, const Axis& y) {
  std::string svg;
  for (const double tick : x.Ticks()) {
    svg += SvgText(x.At(tick), kHeight - kBottom + 16, "middle",
                   FormatShort(tick));
  }
  for (const double tick : y.Ticks()) {
    svg += SvgText(kLeft - 6, y.At(tick) + 4, "end", FormatShort(tick));
    svg += fmt::format(
        R"(<line stroke="#ddd" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>)"
        "\n",
        FormatShort(kLeft), FormatShort(kWidth - kRight),
        FormatShort(y.At(tick)));
  }
  svg += SvgText(kWidth / 2, kHeight - 8, "middle", chart.x_name);
  for (const auto& [place, name] : chart.marks) {
    if (!x.Takes(place)) continue;
    svg += fmt::format(
        R"(<line stroke="#333" stroke-dasharray="4" x1="{0}" x2="{0}" )"
        R"(y1="{1}" y2="{2}"/>)"
        "\n{3}",
        FormatShort(x.At(place)), FormatShort(kTop),
        FormatShort(kHeight - kBottom),
        SvgText(x.At(place) + 4, kTop + 10, "start", name));
  }
  return svg;
}

std::string Legend(const LineChart& chart) {
  std::string legend;
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    legend +=
        fmt::format(R"(<span style="color:{}">&#9632;</span> {} )",
                    kColors[i % kColors.size()], Escaped(chart.lines[i].name));
  }
  return legend;
}

}  // namespace

std::string DrawChart(const LineChart& chart) {
  Axis x(chart.log_x, kLeft, kWidth - kRight);
  Axis y(chart.log_y, kHeight - kBottom, kTop);
  bool any = false;
  for (const ChartLine& line : chart.lines) {
    for (const auto& [across, up] : line.points) {
      if (!x.Takes(across) || !y.Takes(up)) continue;
      x.Include(across);
      y.Include(up);
      any = true;
    }
  }
  if (!any) return {};
  std::string svg = SvgOpen(kWidth, kHeight) + DrawAxes(chart, x, y);
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    svg += DrawLine(chart.lines[i], x, y, kColors[i % kColors.size()]);
  }
  return HtmlFigure(chart.title,
                    fmt::format("{}</svg>\n<div>{}</div>", svg, Legend(chart)));
}

std::string ChartPage(const std::string& title, const std::string& text,
                      const std::vector<LineChart>& charts) {
  std::string page = fmt::format("{}<h1>{}</h1>\n<p>{}</p>\n", HtmlHead(title),
                                 Escaped(title), Escaped(text));
  for (const LineChart& chart : charts) page += DrawChart(chart);
  return page + "</body></html>\n";
}

}  // namespace foretell::training
