#include "src/core/text.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace foretell {
namespace {

TEST(FirstLine, EndsBeforeTheNewline) {
  EXPECT_EQ(FirstLine("cannot run\nat frame 1\n"), "cannot run");
  EXPECT_EQ(FirstLine("cannot run"), "cannot run");
}

TEST(FirstLine, SkipsBlanksAtTheBeginning) {
  EXPECT_EQ(FirstLine("\n\n  cannot run\nat frame 1"), "cannot run");
}

TEST(FirstLine, OfNothingIsEmpty) {
  EXPECT_EQ(FirstLine(""), "");
  EXPECT_EQ(FirstLine(" \n \n"), "");
}

TEST(Joined, PutsTheSeparatorBetweenWords) {
  EXPECT_EQ(Joined(std::vector<std::string>{"a", "", "c"}), "a, , c");
  EXPECT_EQ(Joined(std::set<std::string>{"b", "a"}, "\n"), "a\nb");
  EXPECT_EQ(Joined(std::vector<std::string>{}), "");
}

}  // namespace
}  // namespace foretell
