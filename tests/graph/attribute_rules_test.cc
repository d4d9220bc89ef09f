#include "src/graph/attribute_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "src/graph/attribute_table.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using IntList = std::vector<std::int64_t>;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kRank = 3;
/// What the review asked every attribute of every operator for.
constexpr std::int64_t kAtLimits[] = {
    kLeast, -1, kRank, kRank + 1, std::int64_t{1} << 31, std::int64_t{1} << 62};

/// Two operands and a result of rank 3.
OperatorGraph TwoOperands() {
  return ParseGraph(R"(%a = input f32[2,3,4]
%b = input f32[2,3,4]
%c = some_operator(%a, %b) : f32[2,3,4])");
}

bool IsAccepted(const OperatorGraph& graph, std::string_view target,
                std::string_view name, Attribute value) {
  Node node = graph.node(0);
  node.target = target;
  node.attributes = {{std::string(name), std::move(value)}};
  try {
    CheckAttributes(graph, node);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_TRUE(
        std::string(error.what()).starts_with(std::string(name) + " is "))
        << error.what();
    return false;
  }
}

/// Calls `use` with every operator, attribute and rule of the table.
template <typename Use>
void ForEachRule(const Use& use) {
  const auto words = [](std::string_view text) {
    std::vector<std::string> found(1);
    for (const char c : text) {
      c == ' ' ? static_cast<void>(found.emplace_back())
               : found.back().push_back(c);
    }
    return found;
  };
  for (const AttributeRow& row : kAttributeRows) {
    for (const std::string& target : words(row.operators)) {
      for (const std::string& name : words(row.attributes)) {
        SCOPED_TRACE(target + "." + name);
        use(target, name, row.rule);
      }
    }
  }
}

bool CountsDimensions(AttributeForm form) {
  return form == AttributeForm::kDim || form == AttributeForm::kDims ||
         form == AttributeForm::kDimsInTurn;
}

TEST(AttributeRules, NameEveryOperatorAndAttributeOnce) {
  std::vector<std::string> names;
  ForEachRule([&](const std::string& target, const std::string& name,
                  const AttributeRule& /*rule*/) {
    EXPECT_NE(OpKindOf(target), OpKind::kOther);
    names.push_back(target + "." + name);
  });
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  EXPECT_EQ(twice, names.end()) << *twice;
  EXPECT_GT(names.size(), 700u);
}

TEST(AttributeRules, KeepDimensionsWithinTheRank) {
  const OperatorGraph graph = TwoOperands();
  ForEachRule([&](const std::string& target, const std::string& name,
                  const AttributeRule& rule) {
    if (!CountsDimensions(rule.form)) return;
    for (std::int64_t dim = -kRank; dim < kRank; ++dim) {
      EXPECT_TRUE(IsAccepted(graph, target, name, dim)) << dim;
    }
    for (const std::int64_t dim : kAtLimits) {
      if (dim == -1) continue;
      EXPECT_FALSE(IsAccepted(graph, target, name, dim)) << dim;
      EXPECT_FALSE(IsAccepted(graph, target, name, IntList{dim})) << dim;
    }
    EXPECT_FALSE(IsAccepted(graph, target, name, IntList(65, 0)));
    EXPECT_FALSE(IsAccepted(graph, target, name, std::string("x")));
    EXPECT_EQ(IsAccepted(graph, target, name, IntList{}),
              rule.form != AttributeForm::kDim);
    EXPECT_EQ(IsAccepted(graph, target, name, IntList{1, 1}),
              rule.form == AttributeForm::kDimsInTurn);
    EXPECT_EQ(IsAccepted(graph, target, name, IntList{1, -2}),
              rule.form == AttributeForm::kDimsInTurn);
    EXPECT_EQ(IsAccepted(graph, target, name, IntList{2, 0}),
              rule.form != AttributeForm::kDim);
  });
}

TEST(AttributeRules, TakePermutationsOfAllDimensions) {
  const OperatorGraph graph = TwoOperands();
  for (const std::string target : {"permute", "permute_copy"}) {
    EXPECT_TRUE(IsAccepted(graph, target, "dims", IntList{2, 0, 1}));
    EXPECT_TRUE(IsAccepted(graph, target, "dims", IntList{-1, 0, 1}));
    for (const IntList& dims :
         {IntList{}, IntList{0, 1}, IntList{0, 1, 1}, IntList{0, 1, 3},
          IntList{0, 1, -2}, IntList{0, 1, 2, 0}}) {
      EXPECT_FALSE(IsAccepted(graph, target, "dims", dims));
    }
  }
}

TEST(AttributeRules, LimitWhateverIsCounted) {
  const OperatorGraph graph = TwoOperands();
  ForEachRule([&](const std::string& target, const std::string& name,
                  const AttributeRule& rule) {
    if (rule.most == 0) return;
    for (const std::int64_t number : kAtLimits) {
      const bool fits = number >= rule.least && number <= rule.most;
      const bool is_one = rule.form == AttributeForm::kInteger;
      EXPECT_EQ(IsAccepted(graph, target, name, number), fits) << number;
      EXPECT_EQ(IsAccepted(graph, target, name, IntList{number}), fits)
          << number;
      EXPECT_FALSE(is_one && IsAccepted(graph, target, name, IntList{1, 1}));
    }
    EXPECT_FALSE(IsAccepted(graph, target, name, kLeast));
    EXPECT_FALSE(IsAccepted(graph, target, name, 0.5));
    const bool is_short = rule.most_items <= 2 * kMaxRank;
    EXPECT_EQ(IsAccepted(graph, target, name, IntList(129, 1)), !is_short);
  });
}

TEST(AttributeRules, TakeFlagsTextAndNumbersForNothingElse) {
  const OperatorGraph graph = TwoOperands();
  ForEachRule([&](const std::string& target, const std::string& name,
                  const AttributeRule& rule) {
    const bool is_flag = rule.form == AttributeForm::kFlag;
    const bool is_text = rule.form == AttributeForm::kText;
    const bool is_real = rule.form == AttributeForm::kReal;
    if (!is_flag && !is_text && !is_real) return;
    EXPECT_EQ(IsAccepted(graph, target, name, true), is_flag);
    EXPECT_EQ(IsAccepted(graph, target, name, std::int64_t{1}), !is_text);
    EXPECT_EQ(IsAccepted(graph, target, name, std::int64_t{2}), is_real);
    EXPECT_EQ(IsAccepted(graph, target, name, 0.5), is_real);
    EXPECT_EQ(IsAccepted(graph, target, name, std::string("x")), is_text);
    EXPECT_FALSE(IsAccepted(graph, target, name, IntList{1}));
  });
}

TEST(AttributeRules, TakeAWordForAPadding) {
  const OperatorGraph graph = TwoOperands();
  EXPECT_TRUE(IsAccepted(graph, "conv2d", "padding", std::string("same")));
  EXPECT_FALSE(IsAccepted(graph, "conv2d", "stride", std::string("same")));
}

TEST(AttributeRules, LetUnknownOperatorsAndAttributesBe) {
  const OperatorGraph graph = TwoOperands();
  EXPECT_TRUE(IsAccepted(graph, "some::operator", "dim", kLeast));
  EXPECT_TRUE(IsAccepted(graph, "transpose", "angle", kLeast));
}

TEST(AttributeRules, HoldForOperatorsThatWorkInPlace) {
  const OperatorGraph graph = TwoOperands();
  EXPECT_FALSE(IsAccepted(graph, "transpose_", "dim0", kRank));
  EXPECT_FALSE(IsAccepted(graph, "c10d::allreduce_", "gpus", kLeast));
}

TEST(AttributeRules, CountAScalarAsOneDimension) {
  const OperatorGraph graph = ParseGraph(R"(%a = input f32[]
%c = some_operator(%a) : f32[])");
  EXPECT_TRUE(IsAccepted(graph, "sum", "dim", IntList{-1}));
  EXPECT_TRUE(IsAccepted(graph, "softmax", "dim", std::int64_t{0}));
  EXPECT_FALSE(IsAccepted(graph, "softmax", "dim", std::int64_t{1}));
  EXPECT_TRUE(IsAccepted(graph, "permute", "dims", IntList{}));
}

struct Refused {
  const char* text;
  const char* message;
};

// Each was accepted, and read or overwrote memory or overflowed.
constexpr Refused kRefusedTexts[] = {
    {"%a = transpose(input f32[2,3]) {dim0=0, dim1=7} : f32[3,2]",
     "node 0 (transpose): dim1 is 7, expected -2 to 1"},
    {"%a = permute(input f32[2,3]) {dims=[0, 9]} : f32[3,2]",
     "node 0 (permute): dims is [0, 9], expected -2 to 1"},
    {"%a = conv2d(input f32[1,4,8,8], weight f32[4,4,3,3]) "
     "{groups=4611686018427387904} : f32[1,4,6,6]",
     "groups is 4611686018427387904, expected 1 to 2147483647"},
    {"%a = conv2d(input f32[], weight f32[4,4,3,3]) : f32[1,4,6,6]",
     "a weight of rank 4 has an input of rank 0 and a result of rank 4"},
    {"%a = conv2d(input f32[1073741824,1,1,1], weight f32[1,1,1,1]) : "
     "f32[1,1,67108864,1073741824] bytes=4",
     "a convolution of [1073741824, 1, 72057594037927936] has more than 2^56"},
    {"%a = slice(input f32[4]) {dim=0, step=-2} : f32[4]",
     "step is -2, expected 1 to 9223372036854775807"},
    {"%a = einsum(input f32[2,3], input f32[3,4]) {equation=5} : f32[2,4]",
     "equation is 5, expected text"},
    {"%a = einsum(input f32[0,1099511627776], input f32[0,1099511627776]) "
     "{equation=\"ab,cd->\"} : f32[]",
     "multiply-accumulates exceed int64"},
};

TEST(GraphText, RefusesAttributesThatDoNotFit) {
  for (const Refused& refused : kRefusedTexts) {
    SCOPED_TRACE(refused.text);
    ExpectError([&] { ParseGraph(refused.text, "g"); }, ErrorCode::kCorrupt,
                refused.message);
  }
}

}  // namespace
}  // namespace foretell
