#include "src/surrogate/axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "foretell/error.h"
#include "src/core/failure.h"
#include "src/core/parse_number.h"
#include "src/core/random.h"

namespace foretell::surrogate {
namespace {

constexpr std::size_t kMostValues = 1'000'000;
/// Draws per wanted point before the axes count as exhausted.
constexpr int kPatience = 50;
/// Corners of more axes would be more than the points.
constexpr std::size_t kMostCorneredAxes = 4;

[[noreturn]] void RefusePart(std::string_view part, std::string_view reason) {
  throw InvalidArgument(
      "'{}': {}; expected NAME=LOW..HIGH, NAME=LOW..HIGH:STEP or NAME=A|B|C",
      part, reason);
}

/// What comes before `sign`, removed together with it; or all.
std::string_view TakeUntil(std::string_view& text, std::string_view sign) {
  const std::size_t at = text.find(sign);
  const std::string_view piece = text.substr(0, at);
  text = at == std::string_view::npos ? "" : text.substr(at + sign.size());
  return piece;
}

std::int64_t ParseSize(std::string_view part, std::string_view text) {
  const auto number = ParseNumber<std::int64_t>(text);
  if (!number || *number < 1) {
    RefusePart(part, fmt::format("'{}' is not a whole number above 0", text));
  }
  return *number;
}

std::vector<std::int64_t> ParseRange(std::string_view part,
                                     std::string_view text) {
  const std::int64_t low = ParseSize(part, TakeUntil(text, ".."));
  const std::int64_t high = ParseSize(part, TakeUntil(text, ":"));
  const std::int64_t step = text.empty() ? 1 : ParseSize(part, text);
  std::vector<std::int64_t> values;
  for (std::int64_t value = low; value <= high; value += step) {
    values.push_back(value);
    if (values.size() > kMostValues) RefusePart(part, "is too long");
  }
  return values;
}

std::vector<std::int64_t> ParseValues(std::string_view part,
                                      std::string_view text) {
  if (text.find("..") != std::string_view::npos) return ParseRange(part, text);
  std::vector<std::int64_t> values;
  while (!text.empty()) {
    values.push_back(ParseSize(part, TakeUntil(text, "|")));
  }
  return values;
}

Axis ParseAxis(std::string_view part) {
  std::string_view text = part;
  const std::string_view name = TakeUntil(text, "=");
  Axis axis{std::string(name), ParseValues(part, text)};
  if (axis.name.empty()) RefusePart(part, "has no name");
  if (axis.values.size() < 2) RefusePart(part, "has fewer than two values");
  if (!std::ranges::is_sorted(axis.values, std::less_equal<>())) {
    RefusePart(part, "has values that are not in ascending order");
  }
  return axis;
}

/// The value nearest to one drawn evenly in logarithms.
std::int64_t DrawValue(const Axis& axis, Random& random) {
  const auto low = std::log(static_cast<double>(axis.values.front()));
  const auto high = std::log(static_cast<double>(axis.values.back()));
  const double drawn = std::exp(random.Between(low, high));
  const auto above = std::ranges::lower_bound(axis.values, drawn);
  if (above == axis.values.begin()) return *above;
  if (above == axis.values.end()) return axis.values.back();
  const std::int64_t below = *(above - 1);
  const bool is_nearer =
      drawn - static_cast<double>(below) < static_cast<double>(*above) - drawn;
  return is_nearer ? below : *above;
}

using Point = std::vector<std::int64_t>;

/// The corner whose bits show which axes are at their largest value.
Point Corner(const std::vector<Axis>& axes, std::size_t bits) {
  Point point;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool largest = (bits >> i & 1) == 1;
    point.push_back(largest ? axes[i].values.back() : axes[i].values.front());
  }
  return point;
}

Eigen::MatrixXd MatrixOf(const std::vector<Point>& points, std::size_t axes) {
  Eigen::MatrixXd matrix(std::ssize(points), static_cast<Eigen::Index>(axes));
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
      matrix(i, j) = static_cast<double>(
          points[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]);
    }
  }
  return matrix;
}

std::vector<Axis> ParseAll(std::string_view text) {
  std::vector<Axis> axes;
  while (!text.empty()) {
    const std::string_view part = TakeUntil(text, ",");
    Axis axis = ParseAxis(part);
    if (std::ranges::find(axes, axis.name, &Axis::name) != axes.end()) {
      RefusePart(part, "names an axis that is named already");
    }
    axes.push_back(std::move(axis));
  }
  if (axes.empty()) RefusePart(text, "is empty");
  return axes;
}

}  // namespace

std::vector<Axis> ParseAxes(std::string_view text, std::string_view flag) {
  try {
    return ParseAll(text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} {}", flag, error.what()));
  }
}

Eigen::MatrixXd DrawPoints(const std::vector<Axis>& axes, int count,
                           bool with_corners, std::uint64_t seed) {
  std::vector<Point> points;
  std::set<Point> known;
  const auto add = [&](const Point& point) {
    if (std::ssize(points) < count && known.insert(point).second) {
      points.push_back(point);
    }
  };
  if (with_corners && axes.size() <= kMostCorneredAxes) {
    for (std::size_t i = 0; i < std::size_t{1} << axes.size(); ++i) {
      add(Corner(axes, i));
    }
  }
  Random random(seed);
  for (int i = 0; i < count * kPatience && std::ssize(points) < count; ++i) {
    Point point;
    for (const Axis& axis : axes) point.push_back(DrawValue(axis, random));
    add(point);
  }
  return MatrixOf(points, axes.size());
}

}  // namespace foretell::surrogate
