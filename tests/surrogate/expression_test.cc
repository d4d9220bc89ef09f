#include "src/surrogate/expression.h"

#include <gtest/gtest.h>

#include "src/surrogate/constants.h"
#include "tests/surrogate/toy_table.h"

namespace foretell::surrogate {
namespace {

ExpressionNode Constant(double value) { return {.value = value}; }
ExpressionNode Input(int column) { return {.op = Op::kInput, .input = column}; }
ExpressionNode Node(Op op) { return {.op = op}; }

/// 2 * cube(x0 + -0.5) + square(x1) * 0.25
Expression Example() {
  return {Node(Op::kAdd),  Node(Op::kMultiply), Constant(2),
          Node(Op::kCube), Node(Op::kAdd),      Input(0),
          Constant(-0.5),  Node(Op::kMultiply), Node(Op::kSquare),
          Input(1),        Constant(0.25)};
}

Eigen::MatrixXd TwoRows() {
  Eigen::MatrixXd inputs(2, 2);
  inputs << 1.5, 4, -0.5, 2;
  return inputs;
}

TEST(Expression, FindsTheEndOfSubtrees) {
  EXPECT_EQ(EndOf(Example(), 0), 11u);
  EXPECT_EQ(EndOf(Example(), 1), 7u);
  EXPECT_EQ(EndOf(Example(), 7), 11u);
  EXPECT_EQ(EndOf(Example(), 5), 6u);
}

TEST(Expression, ComputesAllRows) {
  const Eigen::MatrixXd inputs = TwoRows();
  Evaluator evaluator(inputs);
  const Eigen::ArrayXd value = evaluator.Value(Example());
  EXPECT_DOUBLE_EQ(value[0], 2 * 1 + 16 * 0.25);
  EXPECT_DOUBLE_EQ(value[1], 2 * -1 + 4 * 0.25);
}

TEST(Expression, DerivesByItsConstants) {
  const Eigen::MatrixXd inputs = TwoRows();
  Evaluator evaluator(inputs);
  Expression expression = Example();
  const std::vector<std::size_t> places = ConstantsOf(expression);
  ASSERT_EQ(places.size(), 3u);
  const Eigen::MatrixXd gradient = evaluator.Gradient(expression, places);
  constexpr double kStep = 1e-6;
  for (std::size_t i = 0; i < places.size(); ++i) {
    Expression moved = expression;
    moved[places[i]].value += kStep;
    const Eigen::ArrayXd above = evaluator.Value(moved);
    moved[places[i]].value -= 2 * kStep;
    const Eigen::ArrayXd below = evaluator.Value(moved);
    for (int row = 0; row < 2; ++row) {
      EXPECT_NEAR(gradient(row, static_cast<Eigen::Index>(i)),
                  (above[row] - below[row]) / (2 * kStep), 1e-6);
    }
  }
}

TEST(Expression, MultipliesOutInTheUnitsOfTheTable) {
  const PowerSum sum = MultiplyOut(Example(), {10, 2}, 1000);
  const Eigen::MatrixXd scaled = TwoRows();
  Eigen::MatrixXd inputs = scaled;
  inputs.col(0) *= 10;
  inputs.col(1) *= 2;
  Evaluator evaluator(scaled);
  const Eigen::ArrayXd expected = 1000 * evaluator.Value(Example());
  EXPECT_NEAR(sum.Predict(inputs)[0], expected[0], 1e-9);
  EXPECT_NEAR(sum.Predict(inputs)[1], expected[1], 1e-9);
  EXPECT_EQ(DegreeOf(Example()), 3);
  EXPECT_EQ(sum.terms().size(), 5u);
}

TEST(Constants, AreFoundByLeastSquaresOfRelativeErrors) {
  const Table table = ToyTable(4, 4, [](double batch, double edge) {
    return 3 * (edge + 40) * (edge + 40) + 5 * batch;
  });
  // square(x1 + c) * d + x0 * e, from far off.
  Expression expression = {Node(Op::kAdd),    Node(Op::kMultiply),
                           Node(Op::kSquare), Node(Op::kAdd),
                           Input(1),          Constant(1),
                           Constant(1),       Node(Op::kMultiply),
                           Input(0),          Constant(1)};
  Evaluator evaluator(table.inputs);
  for (int i = 0; i < 5; ++i) FitConstants(expression, evaluator, table.values);
  EXPECT_NEAR(expression[5].value, 40, 1e-3);
  EXPECT_NEAR(expression[6].value, 3, 1e-3);
  EXPECT_NEAR(expression[9].value, 5, 1e-2);
}

TEST(Constants, StayWhereThereAreMoreOfThemThanRows) {
  const Eigen::MatrixXd inputs = Eigen::MatrixXd::Ones(1, 1);
  const Eigen::VectorXd values = Eigen::VectorXd::Ones(1);
  Evaluator evaluator(inputs);
  Expression expression = {Node(Op::kAdd), Constant(5), Constant(6)};
  FitConstants(expression, evaluator, values);
  EXPECT_EQ(expression[1].value, 5);
}

}  // namespace
}  // namespace foretell::surrogate
