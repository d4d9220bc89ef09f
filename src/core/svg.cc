#include "src/core/svg.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/core/numbers.h"
#include "src/core/printable.h"

namespace foretell {
namespace {

constexpr int kEvenTicks = 5;
constexpr double kMostPowers = 6;
/// Rounding of logarithms.
constexpr double kSlack = 1e-9;

constexpr char kStyle[] =
    "body { font: 14px sans-serif; margin: 2em; max-width: 72em; }\n"
    "table { border-collapse: collapse; margin: 1em 0; }\n"
    "td, th { padding: 2px 10px; border-bottom: 1px solid #ddd; }\n"
    "td { text-align: right; } td:first-child { text-align: left; }\n"
    "svg { fill: #3b6ea5; } svg text { fill: #333; font-size: 11px; }\n"
    "figure { display: inline-block; margin: 0.5em 1em 0.5em 0; }\n"
    "figcaption { font-weight: bold; }\n";

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

std::string HtmlHead(std::string_view title) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<title>" +
         Escaped(title) + "</title>\n<style>\n" + kStyle +
         "</style></head><body>\n";
}

std::string HtmlFigure(std::string_view caption, std::string_view content) {
  if (content.empty()) return {};
  return "<figure><figcaption>" + Escaped(caption) + "</figcaption>\n" +
         std::string(content) + "</figure>\n";
}

std::string SvgOpen(double width, double height) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
         FormatShort(width) + "\" height=\"" + FormatShort(height) +
         "\" role=\"img\">\n";
}

std::string SvgText(double x, double y, std::string_view anchor,
                    std::string_view text) {
  return "<text x=\"" + FormatShort(x) + "\" y=\"" + FormatShort(y) +
         "\" text-anchor=\"" + std::string(anchor) + "\">" + Escaped(text) +
         "</text>\n";
}

Axis::Axis(bool log, double from, double to)
    : log_(log),
      from_(from),
      to_(to),
      low_(std::numeric_limits<double>::infinity()),
      high_(-low_) {}

bool Axis::Takes(double value) const {
  return std::isfinite(value) && (!log_ || value > 0);
}

void Axis::Include(double value) {
  low_ = std::min(low_, Place(value));
  high_ = std::max(high_, Place(value));
}

double Axis::At(double value) const {
  const double range = high_ > low_ ? high_ - low_ : 1;
  return from_ + (to_ - from_) * (Place(value) - low_) / range;
}

std::vector<double> Axis::Ticks() const {
  std::vector<double> ticks;
  if (log_) {
    const double step = std::max(1.0, std::ceil((high_ - low_) / kMostPowers));
    for (double power = std::ceil(low_ - kSlack); power <= high_ + kSlack;
         power += step) {
      ticks.push_back(std::pow(10, power));
    }
    if (ticks.size() >= 2) return ticks;
    ticks.clear();
  }
  for (int i = 0; i < kEvenTicks; ++i) {
    const double place = low_ + (high_ - low_) * i / (kEvenTicks - 1);
    ticks.push_back(log_ ? std::pow(10, place) : place);
    if (high_ <= low_) break;
  }
  return ticks;
}

double Axis::Place(double value) const {
  return log_ ? std::log10(value) : value;
}

}  // namespace foretell
