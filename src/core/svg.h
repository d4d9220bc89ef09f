#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretell {

/// @name Parts of a page with pictures: inline SVG, no scripts, nothing loaded
/// from elsewhere. Text is made Printable (printable.h) and escaped.
/// @{

/// `text` for HTML and SVG, with <, >, &, and quotes escaped.
std::string Escaped(std::string_view text);

/// Everything up to the body of a page, with one style for tables and figures.
std::string HtmlHead(std::string_view title);

/// <figure> with a caption over `content`; empty where that is.
std::string HtmlFigure(std::string_view caption, std::string_view content);

/// Opening tag of a picture of so many pixels.
std::string SvgOpen(double width, double height);

/// `text` at a place; `anchor` is "start", "middle" or "end".
std::string SvgText(double x, double y, std::string_view anchor,
                    std::string_view text);

/// @}

/// Maps numbers to pixels, by their logarithm where asked.
class Axis {
 public:
  /// Pixels of the least and of the largest number.
  Axis(bool log, double from, double to);

  /// Whether it has a place for `value`: finite, above 0 on a logarithmic axis.
  bool Takes(double value) const;
  /// Makes room for a value that it takes.
  void Include(double value);
  /// The pixel of `value`.
  double At(double value) const;
  /// Where to write numbers: powers of ten, at most about six, on a logarithmic
  /// axis that spans two; five at even distances on others. Requires that
  /// something was included.
  std::vector<double> Ticks() const;

 private:
  double Place(double value) const;

  bool log_;
  double from_;
  double to_;
  double low_;
  double high_;
};

}  // namespace foretell
