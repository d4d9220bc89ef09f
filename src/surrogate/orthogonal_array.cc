#include "src/surrogate/orthogonal_array.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/core/failure.h"
#include "src/core/numbers.h"

namespace foretell::surrogate {
namespace {

/// Arithmetic of a field with 3 or 4 elements.
struct Field {
  int order = 3;

  int Add(int a, int b) const { return order == 3 ? (a + b) % 3 : a ^ b; }
  int Multiply(int a, int b) const {
    if (order == 3) return a * b % 3;
    // Powers of a generator of GF(4): 1, 2, 3.
    return a == 0 || b == 0 ? 0 : (a - 1 + b - 1) % 3 + 1;
  }
};

/// Vectors of `length` whose first entry that is not 0 is 1: points of the
/// projective space.
std::vector<std::vector<int>> ProjectivePoints(const Field& field, int length) {
  std::vector<std::vector<int>> points = {{}};
  for (int i = 0; i < length; ++i) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& point : points) {
      const bool starts =
          std::ranges::all_of(point, [](int entry) { return entry == 0; });
      for (int entry = 0; entry < (starts ? 2 : field.order); ++entry) {
        longer.push_back(point);
        longer.back().push_back(entry);
      }
    }
    points = std::move(longer);
  }
  points.erase(points.begin());  // All zeros.
  return points;
}

/// Every vector of `length` by every linear function.
OrthogonalArray LinearArray(std::string_view name, int order, int length) {
  const Field field{order};
  const auto functions = ProjectivePoints(field, length);
  int runs = 1;
  for (int i = 0; i < length; ++i) runs *= order;
  OrthogonalArray array{name, std::vector<int>(functions.size(), order),
                        Eigen::MatrixXi(runs, std::ssize(functions))};
  for (int run = 0; run < runs; ++run) {
    for (std::size_t column = 0; column < functions.size(); ++column) {
      int sum = 0;
      int digits = run;
      for (const int factor : functions[column]) {
        sum = field.Add(sum, field.Multiply(factor, digits % order));
        digits /= order;
      }
      array.runs(run, static_cast<Eigen::Index>(column)) = sum;
    }
  }
  return array;
}

/// Rows differ by every element of Z(3) equally often in any two columns.
constexpr int kDifferences[6][6] = {{0, 0, 0, 0, 0, 0}, {0, 0, 1, 1, 2, 2},
                                    {0, 1, 0, 2, 1, 2}, {0, 1, 2, 0, 2, 1},
                                    {0, 2, 1, 2, 0, 1}, {0, 2, 2, 1, 1, 0}};

OrthogonalArray DevelopedArray() {
  OrthogonalArray array{
      "L18", {2, 3, 3, 3, 3, 3, 3, 3}, Eigen::MatrixXi(18, 8)};
  for (int row = 0; row < 6; ++row) {
    for (int shift = 0; shift < 3; ++shift) {
      const int run = 3 * row + shift;
      array.runs(run, 0) = row / 3;
      array.runs(run, 1) = row % 3;
      for (int column = 0; column < 6; ++column) {
        array.runs(run, 2 + column) = (kDifferences[row][column] + shift) % 3;
      }
    }
  }
  return array;
}

/// Axes of more values are ranges, of which a few will do.
constexpr int kMostLevels = 4;

/// One factor has no pairs: its values are run once each.
constexpr int kMostOfOne = 9;
/// A line, and a point to leave out.
constexpr int kFewestOfOne = 3;

/// `count` of the values of a range that has more than `most`, evenly spread,
/// the first and the last among them.
Axis Thinned(const Axis& axis, int count, int most = kMostLevels) {
  if (std::ssize(axis.values) <= most) return axis;
  Axis thinned{axis.name, {}};
  const auto last = axis.values.size() - 1;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i) * last;
    thinned.values.push_back(
        axis.values[at / (static_cast<std::size_t>(count) - 1)]);
  }
  return thinned;
}

/// A free column for every axis; empty where the array has too few.
std::optional<std::vector<int>> ColumnsFor(const std::vector<Axis>& axes,
                                           const OrthogonalArray& array) {
  std::vector<bool> taken(array.levels.size(), false);
  std::vector<int> columns;
  for (const Axis& axis : axes) {
    std::size_t at = 0;
    while (at < taken.size() &&
           (taken[at] || array.levels[at] != std::ssize(axis.values))) {
      ++at;
    }
    if (at == taken.size()) return std::nullopt;
    taken[at] = true;
    columns.push_back(static_cast<int>(at));
  }
  return columns;
}

Eigen::MatrixXd PointsOf(const std::vector<Axis>& axes,
                         const OrthogonalArray& array,
                         const std::vector<int>& columns) {
  Eigen::MatrixXd points(array.runs.rows(), std::ssize(axes));
  for (Eigen::Index run = 0; run < points.rows(); ++run) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const int level = array.runs(run, columns[i]);
      points(run, static_cast<Eigen::Index>(i)) =
          static_cast<double>(axes[i].values[static_cast<std::size_t>(level)]);
    }
  }
  return points;
}

PlannedRuns PlanOneFactor(const Axis& axis) {
  if (std::ssize(axis.values) < kFewestOfOne) {
    throw InvalidArgument(
        "--sweep: {} has {}, expected at least {} of a single factor",
        axis.name, Counted(axis.values.size(), "value"), kFewestOfOne);
  }
  const Axis thinned = Thinned(axis, kMostOfOne, kMostOfOne);
  Eigen::MatrixXd points(std::ssize(thinned.values), 1);
  for (Eigen::Index i = 0; i < points.rows(); ++i) {
    points(i, 0) =
        static_cast<double>(thinned.values[static_cast<std::size_t>(i)]);
  }
  return {"one factor", points};
}

[[noreturn]] void RefuseAxes(const std::vector<Axis>& axes) {
  std::string counts;
  for (const Axis& axis : axes) {
    counts += fmt::format("{}{} has {}", counts.empty() ? "" : ", ", axis.name,
                          Counted(axis.values.size(), "value"));
  }
  throw InvalidArgument(
      "--sweep: {}; no orthogonal array has a column for each: expected at "
      "most 13 of three values, five of four, or one of two and seven of "
      "three; of more than four values those that are needed are taken",
      counts);
}

}  // namespace

std::vector<OrthogonalArray> OrthogonalArrays() {
  return {LinearArray("L9", 3, 2), LinearArray("L16", 4, 2), DevelopedArray(),
          LinearArray("L27", 3, 3)};
}

PlannedRuns PlanRuns(const std::vector<Axis>& axes) {
  if (axes.size() == 1) return PlanOneFactor(axes.front());
  for (const OrthogonalArray& array : OrthogonalArrays()) {
    const int most = std::ranges::max(array.levels);
    std::vector<Axis> thinned;
    for (const Axis& axis : axes) thinned.push_back(Thinned(axis, most));
    if (const auto columns = ColumnsFor(thinned, array)) {
      return {array.name, PointsOf(thinned, array, *columns)};
    }
  }
  RefuseAxes(axes);
}

}  // namespace foretell::surrogate
