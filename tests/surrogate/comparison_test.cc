#include "src/surrogate/comparison.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
