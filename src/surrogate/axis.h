#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretell::surrogate {

/// An axis of a sweep: its values in ascending order, all above 0.
struct Axis {
  std::string
      name;  ///< "batch", "resolution", a dimension, a field of the zoo.
  std::vector<std::int64_t> values;
};

/// Parses "batch=1..256,resolution=64..512:32,width=8|16|32": ranges with an
/// optional step, or values. Throws Error(kInvalidArgument) that begins with
/// `flag` and quotes an invalid part, a name given twice or values that are not
/// ascending.
std::vector<Axis> ParseAxes(std::string_view text,
                            std::string_view flag = "--sweep");

/// Up to `count` different points, [points, axes], in the order drawn; fewer if
/// the axes have no more. They are log-uniform, so that small values are
/// included; `with_corners`: the first are the combinations of least and
/// largest values.
Eigen::MatrixXd DrawPoints(const std::vector<Axis>& axes, int count,
                           bool with_corners, std::uint64_t seed);

}  // namespace foretell::surrogate
