#include "src/program/size_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace foretell {
namespace {

using testing::ElementsAre;
using testing::Optional;

const SizeExpression::Values kSizes = {{"s0", 7}, {"s1", 4}, {"x.1", 10}};

std::optional<std::int64_t> ValueOf(const std::string& text) {
  const auto size = SizeExpression::Parse(text);
  return size ? size->Evaluate(kSizes) : std::nullopt;
}

TEST(SizeExpression, ComputesAsPythonDoes) {
  EXPECT_THAT(ValueOf("s0 + s1*2 - 1"), Optional(14));
  EXPECT_THAT(ValueOf("-s0 // 2"), Optional(-4));
  EXPECT_THAT(ValueOf("-s0 % s1"), Optional(1));
  EXPECT_THAT(ValueOf("2**s1**1 - (s0 - 3)"), Optional(12));
  EXPECT_THAT(ValueOf("max(s0, s1) + Min(s0, s1, 2)"), Optional(9));
  EXPECT_THAT(ValueOf("(1 + (((-1) + L['x'].size()[1]) // 2))"), Optional(5));
  EXPECT_THAT(ValueOf("int(s0/2) + ceiling(s0/2)"), Optional(7));
  EXPECT_THAT(ValueOf("Piecewise((1, s0 < s1), (s0, True))"), Optional(7));
  EXPECT_THAT(ValueOf("s0 == 7 and not s1 != 4"), Optional(1));
  EXPECT_THAT(ValueOf("not s1 == 4"), Optional(0));
}

TEST(SizeExpression, ReadsWhatSymPyWrites) {
  const std::string s0 = "Symbol('s0', positive=True, integer=True)";
  const std::string s1 = "Symbol('s1', integer=True)";
  const std::pair<std::string, std::int64_t> cases[] = {
      {"Add(Mul(Integer(2), " + s0 + "), Integer(-1))", 13},
      {"FloorDiv(Add(" + s0 + ", Integer(-1)), Integer(2))", 3},
      {"Mod(" + s0 + ", " + s1 + ")", 3},
      {"PythonMod(Integer(-1), " + s1 + ")", 3},
      {"CeilDiv(" + s0 + ", Integer(2))", 4},
      {"CleanDiv(Mul(" + s1 + ", " + s0 + "), Integer(4))", 7},
      {"Max(" + s0 + ", " + s1 + ")", 7},
      {"TruncToInt(Mul(Float('0.5', precision=53), ToFloat(" + s0 + ")))", 3},
      {"TruncToInt(IntTrueDiv(" + s0 + ", Integer(2)))", 3},
      {"Pow(" + s1 + ", Integer(2))", 16},
      {"ModularIndexing(" + s0 + ", Integer(2), Integer(2))", 1},
      {"Where(StrictGreaterThan(" + s0 + ", " + s1 +
           "), Integer(1), "
           "Integer(2))",
       1},
      {"Piecewise(ExprCondPair(Integer(5), Equality(" + s0 +
           ", Integer(0))), ExprCondPair(" + s1 + ", true))",
       4}};
  for (const auto& [text, value] : cases) {
    EXPECT_THAT(ValueOf(text), Optional(value)) << text;
  }
}

TEST(SizeExpression, PrintsWhatItReadsAgain) {
  for (const std::string text :
       {"2*s77+1", "s0//2*(s1//2)", "(s0-1)//2+1", "Max(s0, s1)", "s52+s97",
        "s0-(s1-2)", "s0%(s1*2)", "-1*s0", "batch-4", "s0**2"}) {
    const auto size = SizeExpression::Parse(text);
    ASSERT_TRUE(size) << text;
    EXPECT_EQ(size->ToString(), text);
    EXPECT_EQ(SizeExpression::Parse(size->ToString())->Evaluate(kSizes),
              size->Evaluate(kSizes));
  }
  EXPECT_EQ(SizeExpression::Parse("Add(Integer(-4), Symbol('n'))")->ToString(),
            "n-4");
}

TEST(SizeExpression, HasNoValueWhereItCannotBeKnown) {
  for (const std::string text : {"s9", "s0/2", "s0//0", "s0 % 0", "2**60"}) {
    EXPECT_EQ(ValueOf(text), std::nullopt) << text;
  }
}

TEST(SizeExpression, RefusesOtherTexts) {
  const std::string deep(100, '(');
  for (const std::string& text :
       {std::string(), std::string("s0 s1"), std::string("s0+"),
        std::string("f(s0)"), std::string("FloorDiv(s0)"), std::string("Add("),
        std::string("Symbol('')"), std::string("99999999999999999999"),
        std::string("a.b"), std::string("L['x']"), deep}) {
    EXPECT_FALSE(SizeExpression::Parse(text)) << text;
  }
}

TEST(SizeExpression, SolvesForASymbolThatItIsLinearIn) {
  const auto solve = [](const std::string& text, std::int64_t target) {
    return SizeExpression::Parse(text)->Solve("n", target, kSizes);
  };
  EXPECT_THAT(solve("n", 5), Optional(5));
  EXPECT_THAT(solve("n + s0", 129), Optional(122));
  EXPECT_THAT(solve("2*n + n - 1", 14), Optional(5));
  EXPECT_THAT(solve("s1*(n - 1)", 8), Optional(3));
  EXPECT_THAT(solve("(4*n + 3)//2", 13), Optional(6));
  EXPECT_THAT(solve("s0 - n", 2), Optional(5));
  EXPECT_THAT(solve("TruncToInt(ToFloat(2*n))", 8), Optional(4));
  EXPECT_EQ(solve("2*n", 7), std::nullopt);
  EXPECT_EQ(solve("n//2", 7), std::nullopt);
  EXPECT_EQ(solve("n*n", 9), std::nullopt);
  EXPECT_EQ(solve("n*s9", 9), std::nullopt);
  EXPECT_EQ(solve("Max(n, 3)", 9), std::nullopt);
}

TEST(SizeExpression, OneEquationHelpsAnother) {
  const std::vector<SizeEquation> equations = {
      {*SizeExpression::Parse("past + new"), 129},
      {*SizeExpression::Parse("2*new"), 2},
      {*SizeExpression::Parse("a*b"), 6}};
  SizeExpression::Values values;
  SolveSizes(equations, values);
  EXPECT_THAT(values,
              ElementsAre(testing::Pair("new", 1), testing::Pair("past", 128)));
}

}  // namespace
}  // namespace foretell
