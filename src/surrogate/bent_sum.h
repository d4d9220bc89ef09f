#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/surrogate/power_sum.h"

namespace foretell::surrogate {

/// coefficient * max(0, product - knot): nothing below the knot.
struct Bend {
  Term product;  ///< Coefficient and powers.
  double knot = 0;
};

/// A polynomial with bends: its growth rate changes at a knot, as that of
/// memory does when another layer becomes the largest.
class BentSum final : public Model {
 public:
  BentSum() = default;
  BentSum(PowerSum sum, std::vector<Bend> bends)
      : sum_(std::move(sum)), bends_(std::move(bends)) {}

  const PowerSum& sum() const { return sum_; }
  const std::vector<Bend>& bends() const { return bends_; }
  Eigen::VectorXd Predict(const Eigen::MatrixXd& inputs) const override;
  /// "2*batch + 480 - 1.5*(batch > 64)*(batch - 64)": a comparison is 1 if
  /// true, else 0, in Python, awk and JavaScript.
  std::string Formula(const std::vector<std::string>& columns) const override;
  void Describe(JsonFields& fields, std::size_t columns) override;

  /// The same with as few digits as change no prediction for `inputs` by more
  /// than the relative `tolerance`.
  BentSum Rounded(const Eigen::MatrixXd& inputs, double tolerance) const;

 private:
  PowerSum sum_;
  std::vector<Bend> bends_;
};

}  // namespace foretell::surrogate
