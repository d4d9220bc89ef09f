#include "src/program/name_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"

namespace foretell {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::string RefusalOf(const std::string& pattern) {
  try {
    const NamePattern refused(pattern);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
}

TEST(NamePattern, IsFoundInAnyPartOfAName) {
  const NamePattern projections("q_proj|v_proj");
  EXPECT_TRUE(projections.IsFoundIn("layers.0.q_proj.weight"));
  EXPECT_FALSE(projections.IsFoundIn("layers.0.k_proj.weight"));
  const NamePattern first("^layers\\.[0-3]\\.");
  EXPECT_TRUE(first.IsFoundIn("layers.3.bias"));
  EXPECT_FALSE(first.IsFoundIn("layers.30.bias"));
  EXPECT_FALSE(first.IsFoundIn("decoder.layers.3.bias"));
}

// Where a search goes back to try again, these two never end.
TEST(NamePattern, TakesNoTimeThatGrowsWithItsChoices) {
  const std::string name(5000, 'a');
  EXPECT_FALSE(NamePattern("(a|aa)+$").IsFoundIn(name + 'b'));
  EXPECT_FALSE(NamePattern("(a*)*(a*)*(a*)*b").IsFoundIn(name));
}

// Where a search calls itself for each letter, this ends the process.
TEST(NamePattern, IsSearchedForInNamesOfAnyLength) {
  EXPECT_TRUE(NamePattern(".*b").IsFoundIn(std::string(1000000, 'a') + 'b'));
}

TEST(NamePattern, SaysWhyAPatternIsNone) {
  EXPECT_THAT(RefusalOf("("), HasSubstr("'(' is no regular expression: "));
  EXPECT_THAT(RefusalOf("^(?!bias)"), HasSubstr("(?!"));
  EXPECT_THAT(RefusalOf("(a)\\1"), HasSubstr("\\1"));
}

TEST(NamePattern, BoundsPatternsAndWhatIsSaidOfThem) {
  EXPECT_THAT(RefusalOf("((a{1000}){1000}){1000}"),
              HasSubstr("repetition size"));
  EXPECT_THAT(RefusalOf(std::string(1000000, 'a')),
              HasSubstr("pattern too large"));
  const std::string nested = RefusalOf(std::string(100000, '('));
  EXPECT_THAT(nested, HasSubstr("missing )"));
  EXPECT_THAT(nested, SizeIs(testing::Lt(1000u)));
  EXPECT_EQ(RefusalOf(std::string(10000, '(') + std::string(10000, ')')), "");
}

}  // namespace
}  // namespace foretell
