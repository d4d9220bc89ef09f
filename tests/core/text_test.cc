#include "src/core/text.h"

#include "src/core/shortened.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "src/core/libtorch_message.h"

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

TEST(LibTorchMessage, OfAnAssertionIsWhatItSays) {
  constexpr const char* kPlace =
      "x > 1 INTERNAL ASSERT FAILED at \"/a/b.h\":7, please report a bug to "
      "PyTorch. ";
  EXPECT_EQ(LibTorchMessage(std::string(kPlace) + "expected 2\nat frame 1"),
            "expected 2");
  EXPECT_EQ(LibTorchMessage(kPlace), "LibTorch expects x > 1");
  EXPECT_EQ(LibTorchMessage("cannot run\nat frame 1"), "cannot run");
}

TEST(Shortened, KeepsTheBeginningAndWholeCharacters) {
  EXPECT_EQ(Shortened("four", 4), "four");
  EXPECT_EQ(Shortened("fives", 4), "f…");
  EXPECT_EQ(Shortened("aé…", 5), "a…");
}

}  // namespace
}  // namespace foretell
