#include "training/line_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>

#include "datasets/views/svg.h"

namespace foretell::training {
namespace {

using dataset::Escaped;

constexpr double kWidth = 520;
constexpr double kHeight = 300;
constexpr double kLeft = 60;
constexpr double kRight = 12;
constexpr double kTop = 12;
constexpr double kBottom = 44;
constexpr int kTicks = 5;
constexpr std::array<const char*, 6> kColors = {
    "#3b6ea5", "#c0504d", "#6a9a3b", "#8064a2", "#d08a2e", "#4bacc6"};

std::string Short(double value) {
  std::ostringstream text;
  text.precision(3);
  text << value;
  return text.str();
}

/// Maps numbers to pixels, by their logarithm where asked.
class Axis {
 public:
  Axis(bool log, double from, double to) : log_(log), from_(from), to_(to) {}

  bool Takes(double value) const {
    return std::isfinite(value) && (!log_ || value > 0);
  }
  void Include(double value) {
    low_ = std::min(low_, Place(value));
    high_ = std::max(high_, Place(value));
  }
  double At(double value) const {
    const double range = high_ > low_ ? high_ - low_ : 1;
    return from_ + (to_ - from_) * (Place(value) - low_) / range;
  }
  std::vector<double> Ticks() const {
    std::vector<double> ticks;
    for (int i = 0; i < kTicks; ++i) {
      const double place = low_ + (high_ - low_) * i / (kTicks - 1);
      ticks.push_back(log_ ? std::pow(10, place) : place);
      if (high_ <= low_) break;
    }
    return ticks;
  }

 private:
  double Place(double value) const { return log_ ? std::log10(value) : value; }

  bool log_;
  double from_;
  double to_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

std::string Text(double x, double y, const char* anchor,
                 const std::string& text) {
  return "<text x=\"" + Short(x) + "\" y=\"" + Short(y) + "\" text-anchor=\"" +
         anchor + "\">" + Escaped(text) + "</text>\n";
}

std::string DrawLine(const ChartLine& line, const Axis& x, const Axis& y,
                     const char* color) {
  std::string points;
  for (const auto& [across, up] : line.points) {
    if (!x.Takes(across) || !y.Takes(up)) continue;
    points += Short(x.At(across)) + "," + Short(y.At(up)) + " ";
  }
  return "<polyline fill=\"none\" stroke=\"" + std::string(color) +
         "\" stroke-width=\"1.5\" points=\"" + points + "\"/>\n";
}

std::string DrawAxes(const LineChart& chart, const Axis& x, const Axis& y) {
  std::string svg;
  for (const double tick : x.Ticks()) {
    svg += Text(x.At(tick), kHeight - kBottom + 16, "middle", Short(tick));
  }
  for (const double tick : y.Ticks()) {
    svg += Text(kLeft - 6, y.At(tick) + 4, "end", Short(tick));
    svg += "<line stroke=\"#ddd\" x1=\"" + Short(kLeft) + "\" x2=\"" +
           Short(kWidth - kRight) + "\" y1=\"" + Short(y.At(tick)) +
           "\" y2=\"" + Short(y.At(tick)) + "\"/>\n";
  }
  svg += Text(kWidth / 2, kHeight - 8, "middle", chart.x_name);
  for (const auto& [place, name] : chart.marks) {
    if (!x.Takes(place)) continue;
    const std::string across = Short(x.At(place));
    svg += "<line stroke=\"#333\" stroke-dasharray=\"4\" x1=\"" + across +
           "\" x2=\"" + across + "\" y1=\"" + Short(kTop) + "\" y2=\"" +
           Short(kHeight - kBottom) + "\"/>\n" +
           Text(x.At(place) + 4, kTop + 10, "start", name);
  }
  return svg;
}

std::string Legend(const LineChart& chart) {
  std::string legend;
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    legend +=
        "<span style=\"color:" + std::string(kColors[i % kColors.size()]) +
        "\">&#9632;</span> " + Escaped(chart.lines[i].name) + " ";
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
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
                    Short(kWidth) + "\" height=\"" + Short(kHeight) +
                    "\" role=\"img\">\n" + DrawAxes(chart, x, y);
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    svg += DrawLine(chart.lines[i], x, y, kColors[i % kColors.size()]);
  }
  return "<figure><figcaption>" + Escaped(chart.title) + "</figcaption>\n" +
         svg + "</svg>\n<div>" + Legend(chart) + "</div></figure>\n";
}

std::string ChartPage(const std::string& title, const std::string& text,
                      const std::vector<LineChart>& charts) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<title>" +
      Escaped(title) +
      "</title>\n<style>\n"
      "body { font: 14px sans-serif; margin: 2em; }\n"
      "svg text { fill: #333; font-size: 11px; }\n"
      "figure { display: inline-block; margin: 0.5em 1em 0.5em 0; }\n"
      "figcaption { font-weight: bold; }\n"
      "</style></head><body>\n<h1>" +
      Escaped(title) + "</h1>\n<p>" + Escaped(text) + "</p>\n";
  for (const LineChart& chart : charts) page += DrawChart(chart);
  return page + "</body></html>\n";
}

}  // namespace foretell::training
