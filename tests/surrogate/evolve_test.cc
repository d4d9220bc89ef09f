#include "src/surrogate/evolve.h"

#include <gtest/gtest.h>

#include "tests/surrogate/toy_table.h"

namespace foretell::surrogate {
namespace {

constexpr int kFewGenerations = 40;

Table StepTable() {
  return ToyTable(5, 5, [](double batch, double edge) {
    return 500 + 2e-3 * batch * edge * edge * edge;
  });
}

TEST(Evolve, FindsAFormulaThatMadeTheTable) {
  const Table table = StepTable();
  const Evolution evolution =
      Evolve(table, {.generations = kFewGenerations, .seed = 1});
  EXPECT_LT(MeanError(evolution.formula().Predict(table.inputs), table.values),
            0.01);
}

TEST(Evolve, GivesAFrontOfSizeAgainstError) {
  const Evolution evolution =
      Evolve(StepTable(), {.population = 100, .generations = 20, .seed = 2});
  ASSERT_GT(evolution.front.size(), 1u);
  EXPECT_EQ(evolution.front.front().size, 1u);
  for (std::size_t i = 1; i < evolution.front.size(); ++i) {
    EXPECT_GT(evolution.front[i].size, evolution.front[i - 1].size);
    EXPECT_LT(evolution.front[i].error, evolution.front[i - 1].error);
  }
}

TEST(Evolve, DoesNotTakeAFormulaThatRepeatsNoise) {
  // Seven rows, and a term that would fit any of them.
  Table table = ToyTable(7, 1, [](double batch, double) { return 50 + batch; });
  for (int i = 0; i < 7; ++i) table.values[i] *= i % 2 == 0 ? 1.01 : 0.99;
  const Evolution evolution =
      Evolve(table, {.population = 100, .generations = 30, .seed = 5});
  const SizedFormula& chosen = evolution.front[evolution.chosen];
  EXPECT_LE(chosen.formula.terms().size(), 3u);
  EXPECT_LT(evolution.front.back().error, chosen.error);
}

TEST(Evolve, StatesTheErrorsOfItsFormulas) {
  const Table table = StepTable();
  const Evolution evolution =
      Evolve(table, {.population = 60, .generations = 10, .seed = 3});
  for (const SizedFormula& one : evolution.front) {
    EXPECT_NEAR(MeanError(one.formula.Predict(table.inputs), table.values),
                one.error, 1e-6);
  }
}

TEST(Evolve, RepeatsItselfFromASeed) {
  const EvolveOptions options = {.population = 50, .generations = 8, .seed = 4};
  const Table table = StepTable();
  const std::vector<std::string> names = table.columns;
  EXPECT_EQ(Evolve(table, options).formula().Formula(names),
            Evolve(table, options).formula().Formula(names));
}

TEST(Evolve, TellsOfEveryGeneration) {
  int told = 0;
  double last = 1e300;
  Evolve(StepTable(), {.population = 20,
                       .generations = 5,
                       .on_generation = [&](int generation, double error) {
                         EXPECT_EQ(generation, ++told);
                         EXPECT_LE(error, last);
                         last = error;
                       }});
  EXPECT_EQ(told, 5);
}

}  // namespace
}  // namespace foretell::surrogate
