#include "src/surrogate/comparison.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "src/surrogate/model_json.h"
#include "tests/surrogate/toy_table.h"

namespace foretell::surrogate {
namespace {

ComparedRows Rows(int choosing) {
  const Table table = ToyTable(
      6, 6, [](double batch, double edge) { return 50 + batch * edge * edge; });
  SplitTable split = Split(table, 0.4, 1);
  std::vector<Eigen::Index> rows;
  for (int i = 0; i < choosing; ++i) rows.push_back(i);
  return {.fitted = split.fitted,
          .choosing = TakeRows(table, rows),
          .held_out = split.held_out};
}

TEST(Comparison, TakesTheFirstMethodWithoutRowsToChooseBy) {
  const Comparison comparison =
      Compare(Rows(0), {Method::kLinear, Method::kPolynomial}, {});
  EXPECT_EQ(comparison.chosen, 0u);
  EXPECT_GT(comparison.errors[0].mean, comparison.errors[1].mean);
}

TEST(Comparison, ChoosesTheBestFormulaByItsOwnRows) {
  const Comparison comparison =
      Compare(Rows(10),
              {Method::kLinear, Method::kPolynomial, Method::kExtraTrees}, {});
  EXPECT_EQ(comparison.chosen, 1u);
}

TEST(Comparison, TakesTheFirstOfMethodsThatAreNearlyAsGood) {
  const Comparison comparison =
      Compare(Rows(10), {Method::kPolynomial, Method::kPolynomial}, {});
  EXPECT_EQ(comparison.chosen, 0u);
  EXPECT_TRUE(IsNearlyAsGood(0.0119, 0.01));
  EXPECT_TRUE(IsNearlyAsGood(0.109, 0.1));
  EXPECT_FALSE(IsNearlyAsGood(0.0121, 0.01));
  EXPECT_FALSE(IsNearlyAsGood(0.111, 0.1));
}

TEST(Comparison, TakesTheShorterOfFormulasThatAreNearlyAsGood) {
  ComparedRows compared = Rows(10);
  for (Table* part :
       {&compared.fitted, &compared.choosing, &compared.held_out}) {
    // Noise that a polynomial of many terms repeats.
    const auto rows = Eigen::ArrayXd::LinSpaced(
        part->rows(), 1, static_cast<double>(part->rows()));
    part->values = (450 + part->values.array()) * (1 + 1e-3 * (7 * rows).sin());
  }
  const Comparison comparison =
      Compare(compared, {Method::kPolynomial, Method::kPiecewise}, {});
  ASSERT_GT(comparison.models[0].model->Formula({"batch", "edge"}).size(),
            comparison.models[1].model->Formula({"batch", "edge"}).size());
  EXPECT_EQ(comparison.chosen, 1u);
}

TEST(Comparison, ExpectsNothingOfMoreConstantsThanRows) {
  ComparedRows rows = Rows(10);
  FittedModel fitted = FitModel(rows.fitted, Method::kLinear, {});
  fitted.front.push_back(
      {.size = 9,
       .expected_error = std::numeric_limits<double>::infinity(),
       .formula = PowerSum({{500, {0, 0}}})});
  const auto front = FrontToJson(fitted, rows.held_out);
  EXPECT_TRUE(front[0]["expected_error"].is_null());
}

TEST(Comparison, SaysFromWhichValueOnItIsClose) {
  Table table = Rows(10).held_out;
  table = TakeRows(table, {0, 1, 2, 3});
  table.inputs << 1, 1, 2, 1, 3, 1, 4, 1;
  table.values = Eigen::Vector4d(1.001, 2.2, 3, 4.01);  // The second is far.
  const HeldOutError error = JudgeModel(PowerSum({{1, {1, 0}}}), table);
  EXPECT_EQ(error.close, 3);
  EXPECT_EQ(error.close_from, 3);
  table.values[3] = 5;
  EXPECT_EQ(JudgeModel(PowerSum({{1, {1, 0}}}), table).close_from,
            std::nullopt);
}

TEST(Comparison, ChoosesAmongOthersWhereNoneHasAFormula) {
  const Comparison comparison =
      Compare(Rows(10), {Method::kNetwork, Method::kExtraTrees}, {});
  EXPECT_EQ(comparison.chosen, 1u);
}

TEST(Comparison, SaysAllOfItAsJson) {
  const ComparedRows rows = Rows(10);
  const auto json =
      ComparisonToJson(Compare(rows, {Method::kSymbolic, Method::kForest},
                               {.population = 30, .generations = 4}),
                       rows);
  EXPECT_EQ(json["method"], "symbolic");
  EXPECT_EQ(json["target"], "memory");
  EXPECT_EQ(json["held_out_rows"], 14);
  EXPECT_EQ(json["ranges"]["batch"][1], 32);
  EXPECT_EQ(json["methods"].size(), 2u);
  EXPECT_TRUE(json["methods"][1]["formula"].is_null());
  EXPECT_EQ(json["front"][0]["size"], 1);
}

}  // namespace
}  // namespace foretell::surrogate
