#include "src/surrogate/bent_sum.h"

#include <fmt/core.h>

#include <cmath>

#include "src/core/json_fields.h"
#include "src/core/numbers.h"

namespace foretell::surrogate {
namespace {

/// The product alone, without its coefficient.
PowerSum ProductOf(const Bend& bend) {
  return PowerSum({{1, bend.product.powers}});
}

std::string BendText(const Bend& bend,
                     const std::vector<std::string>& columns) {
  const std::string product = ProductOf(bend).Formula(columns);
  const std::string knot = FormatExact(std::abs(bend.knot));
  const std::string beyond =
      fmt::format("({0} > {3}{1})*({0} {2} {1})", product, knot,
                  bend.knot < 0 ? "+" : "-", bend.knot < 0 ? "-" : "");
  const double magnitude = std::abs(bend.product.coefficient);
  if (magnitude == 1) return beyond;
  return fmt::format("{}*{}", FormatExact(magnitude), beyond);
}

BentSum WithDigits(const BentSum& exact, int digits) {
  std::vector<Term> terms = exact.sum().terms();
  for (Term& term : terms) {
    term.coefficient = RoundedTo(term.coefficient, digits);
  }
  std::vector<Bend> bends = exact.bends();
  for (Bend& bend : bends) {
    bend.product.coefficient = RoundedTo(bend.product.coefficient, digits);
    bend.knot = RoundedTo(bend.knot, digits);
  }
  return BentSum(PowerSum(std::move(terms)), std::move(bends));
}

}  // namespace

Eigen::VectorXd BentSum::Predict(const Eigen::MatrixXd& inputs) const {
  Eigen::ArrayXd values = sum_.Predict(inputs).array();
  for (const Bend& bend : bends_) {
    const Eigen::ArrayXd product = ProductOf(bend).Predict(inputs).array();
    values += bend.product.coefficient * (product - bend.knot).max(0);
  }
  return values;
}

std::string BentSum::Formula(const std::vector<std::string>& columns) const {
  const bool only_bends = sum_.terms().empty() && !bends_.empty();
  std::string text = only_bends ? "" : sum_.Formula(columns);
  for (const Bend& bend : bends_) {
    const bool negative = bend.product.coefficient < 0;
    const char* sign =
        text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    text += sign + BendText(bend, columns);
  }
  return text;
}

void BentSum::Describe(JsonFields& fields, std::size_t columns) {
  sum_.Describe(fields, columns);
  fields.Objects("bends", bends_, [&](JsonFields& in, Bend& bend) {
    DescribeTerm(in, bend.product, columns);
    in.Value("knot", bend.knot);
  });
}

BentSum BentSum::Rounded(const Eigen::MatrixXd& inputs,
                         double tolerance) const {
  const Eigen::ArrayXd exact = Predict(inputs).array();
  for (int digits = kFewestDigits; digits < kMostDigits; ++digits) {
    BentSum rounded = WithDigits(*this, digits);
    const Eigen::ArrayXd moved =
        (rounded.Predict(inputs).array() - exact).abs();
    if ((moved <= tolerance * exact.abs()).all()) return rounded;
  }
  return *this;
}

}  // namespace foretell::surrogate
