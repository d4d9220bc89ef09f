#pragma once

#include <Eigen/Core>
#include <memory>
#include <string>
#include <vector>

#include "src/surrogate/model.h"

namespace foretell::surrogate {

/// coefficient * x0^powers[0] * x1^powers[1] * …
struct Term {
  double coefficient = 0;
  std::vector<int> powers;  ///< One per input, each 0 or above.
};

/// Least number of digits of a coefficient.
inline constexpr int kFewestDigits = 3;
inline constexpr int kMostDigits = 17;
/// The number nearest to `value` that has `digits` digits.
double RoundedTo(double value, int digits);

/// Its fields, `columns` powers among them.
void DescribeTerm(JsonFields& fields, Term& term, std::size_t columns);

/// A polynomial of the inputs: the form of linear, polynomial and symbolic
/// regression over + * square cube.
class PowerSum final : public Model {
 public:
  PowerSum() = default;  ///< 0.
  /// Terms of equal powers become one; those of coefficient 0 are left out.
  explicit PowerSum(std::vector<Term> terms);

  const std::vector<Term>& terms() const { return terms_; }
  Eigen::VectorXd Predict(const Eigen::MatrixXd& inputs) const override;
  /// "3.5*batch*edge*edge + 1.2e+09": highest powers first, columns by their
  /// FormulaNames (formula_names.h).
  std::string Formula(const std::vector<std::string>& columns) const override;
  void Describe(JsonFields& fields, std::size_t columns) override;

  /// The same without terms that no prediction for `inputs` shows, and with
  /// coefficients of so few digits that none moves by more than the share
  /// `tolerance` of itself: a readable form.
  PowerSum Rounded(const Eigen::MatrixXd& inputs, double tolerance) const;

 private:
  std::vector<Term> terms_;
};

}  // namespace foretell::surrogate
