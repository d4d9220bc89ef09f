#include "cli/print/terminal_style.h"

#include <gtest/gtest.h>

namespace foretell::cli {
namespace {

TEST(Painted, AddsColorWhereTheStyleHasIt) {
  EXPECT_EQ(Painted("no", Tone::kBad, {}), "no");
  EXPECT_EQ(Painted("no", Tone::kBad, {.color = true}), "\033[31mno\033[0m");
  EXPECT_EQ(Painted("no", Tone::kPlain, {.color = true}), "no");
  EXPECT_EQ(Painted("", Tone::kBad, {.color = true}), "");
}

TEST(BarOf, IsDrawnInEighths) {
  EXPECT_EQ(BarOf(1, 3), "███");
  EXPECT_EQ(BarOf(0.5, 3), "█▌");
  EXPECT_EQ(BarOf(0.25, 1), "▎");
  EXPECT_EQ(BarOf(0, 3), "");
  EXPECT_EQ(BarOf(7, 2), "██");
}

TEST(BarOf, ShowsTheSmallestShare) { EXPECT_EQ(BarOf(1e-9, 20), "▏"); }

TEST(Wrapped, BreaksAtBlanks) {
  EXPECT_EQ(Wrapped("  one  two three", 10, 4), "  one  two\n    three");
  EXPECT_EQ(Wrapped("one two", 7, 2), "one two");
  EXPECT_EQ(Wrapped("one two", 6, 2), "one\n  two");
}

TEST(Wrapped, LeavesLongWordsWhole) {
  EXPECT_EQ(Wrapped("abc abcdefghij b", 5, 2), "abc\n  abcdefghij\n  b");
  EXPECT_EQ(Wrapped("  abcdefghij", 5, 2), "  abcdefghij");
}

TEST(Wrapped, CountsCharacters) {
  EXPECT_EQ(Wrapped("öö öö", 5, 1), "öö öö");
  EXPECT_EQ(Wrapped("öö öö", 4, 1), "öö\n öö");
}

TEST(Wrapped, LeavesTextForFilesAsItIs) {
  EXPECT_EQ(Wrapped("one two", 0, 2), "one two");
}

}  // namespace
}  // namespace foretell::cli
