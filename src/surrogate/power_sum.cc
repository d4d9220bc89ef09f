#include "src/surrogate/power_sum.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

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

Term ReadTerm(JsonObject& object, std::size_t columns) {
  Term term{object.Get<double>("coefficient"),
            object.Ints("powers", 0, kMostPower)};
  if (term.powers.size() == columns) return term;
  object.Fail("powers", fmt::format("has {} numbers, expected {}",
                                    term.powers.size(), columns));
}

std::vector<Term> ReadTerms(JsonObject& object, std::size_t columns) {
  std::vector<Term> terms;
  for (JsonObject& term : object.Objects("terms")) {
    terms.push_back(ReadTerm(term, columns));
    term.Finish();
  }
  return terms;
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

nlohmann::ordered_json PowerSum::ToJson() const {
  auto terms = nlohmann::ordered_json::array();
  for (const Term& term : terms_) {
    terms.push_back(
        {{"coefficient", term.coefficient}, {"powers", term.powers}});
  }
  return {{"terms", terms}};
}

std::unique_ptr<Model> PowerSum::FromJson(JsonObject object,
                                          std::size_t columns) {
  std::vector<Term> terms = ReadTerms(object, columns);
  object.Finish();
  return std::make_unique<PowerSum>(std::move(terms));
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
