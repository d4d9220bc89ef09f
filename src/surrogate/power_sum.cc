#include "src/surrogate/power_sum.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "src/core/json_fields.h"
#include "src/core/numbers.h"
#include "src/core/parse_number.h"
#include "src/surrogate/formula_names.h"

namespace foretell::surrogate {
namespace {

constexpr int kMostPower = 1000;
/// Share of a tolerance below which a term is left over from a search.
constexpr double kUnseen = 1e-2;

int Degree(const Term& term) {
  return std::accumulate(term.powers.begin(), term.powers.end(), 0);
}

/// Powers are written out: `**` is unknown to many an awk, `^` is another
/// operator in Python and JavaScript.
std::string ProductText(const Term& term,
                        const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < term.powers.size(); ++i) {
    for (int k = 0; k < term.powers[i]; ++k) {
      text += fmt::format("{}{}", text.empty() ? "" : "*", names[i]);
    }
  }
  return text;
}

std::string TermText(double magnitude, const std::string& product) {
  const std::string number = FormatExact(magnitude);
  if (product.empty()) return number;
  return magnitude == 1 ? product : fmt::format("{}*{}", number, product);
}

Eigen::ArrayXd Power(const Eigen::ArrayXd& base, int exponent) {
  Eigen::ArrayXd power = Eigen::ArrayXd::Ones(base.size());
  for (int i = 0; i < exponent; ++i) power *= base;
  return power;
}

}  // namespace

double RoundedTo(double value, int digits) {
  return *ParseNumber<double>(FormatShort(value, digits));
}

void DescribeTerm(JsonFields& fields, Term& term, std::size_t columns) {
  fields.Value("coefficient", term.coefficient);
  fields.Ints("powers", term.powers, 0, kMostPower);
  fields.Require(
      term.powers.size() == columns, "powers",
      fmt::format("has {} numbers, expected {}", term.powers.size(), columns));
}

PowerSum::PowerSum(std::vector<Term> terms) {
  std::map<std::vector<int>, double, std::greater<>> by_powers;
  for (const Term& term : terms) by_powers[term.powers] += term.coefficient;
  for (const auto& [powers, coefficient] : by_powers) {
    if (coefficient != 0) terms_.push_back({coefficient, powers});
  }
  std::ranges::stable_sort(terms_, std::greater<>(), &Degree);
}

Eigen::VectorXd PowerSum::Predict(const Eigen::MatrixXd& inputs) const {
  Eigen::ArrayXd sum = Eigen::ArrayXd::Zero(inputs.rows());
  for (const Term& term : terms_) {
    Eigen::ArrayXd product =
        Eigen::ArrayXd::Constant(inputs.rows(), term.coefficient);
    for (std::size_t i = 0; i < term.powers.size(); ++i) {
      const auto column = static_cast<Eigen::Index>(i);
      product *= Power(inputs.col(column).array(), term.powers[i]);
    }
    sum += product;
  }
  return sum;
}

std::string PowerSum::Formula(const std::vector<std::string>& columns) const {
  const std::vector<std::string> names = FormulaNames(columns);
  std::string text;
  for (const Term& term : terms_) {
    const bool negative = term.coefficient < 0;
    const char* sign =
        text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    text += fmt::format(
        "{}{}", sign,
        TermText(std::abs(term.coefficient), ProductText(term, names)));
  }
  return text.empty() ? "0" : text;
}

void PowerSum::Describe(JsonFields& fields, std::size_t columns) {
  fields.Objects("terms", terms_, [&](JsonFields& in, Term& term) {
    DescribeTerm(in, term, columns);
  });
  if (fields.IsReading()) *this = PowerSum(std::move(terms_));
}

PowerSum PowerSum::Rounded(const Eigen::MatrixXd& inputs,
                           double tolerance) const {
  const Eigen::ArrayXd exact = Predict(inputs).array();
  std::vector<Term> visible;
  for (const Term& term : terms_) {
    const Eigen::ArrayXd part = PowerSum({term}).Predict(inputs).array();
    if ((part.abs() > kUnseen * tolerance * exact.abs()).any()) {
      visible.push_back(term);
    }
  }
  for (int digits = kFewestDigits; digits < kMostDigits; ++digits) {
    std::vector<Term> terms = visible;
    for (Term& term : terms) {
      term.coefficient = RoundedTo(term.coefficient, digits);
    }
    const PowerSum rounded(std::move(terms));
    const Eigen::ArrayXd moved =
        (rounded.Predict(inputs).array() - exact).abs();
    if ((moved <= tolerance * exact.abs()).all()) return rounded;
  }
  return *this;
}

}  // namespace foretell::surrogate
