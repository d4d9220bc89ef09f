#include "src/core/text.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace foretell
