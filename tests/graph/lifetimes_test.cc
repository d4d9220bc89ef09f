#include <gtest/gtest.h>

#include <string>

#include "foretell/graph_io.h"

namespace foretell {
namespace {

/// The timeline that the printed graph shows.
std::string TimelineOf(std::string_view text) {
  const std::string printed =
      PrintGraph(ParseGraph(text), {.with_timeline = true});
  return printed.substr(printed.find("timeline\n") + 9);
}

TEST(DeriveLifetimes, KeepsSourcesAndOutputsForEver) {
  EXPECT_EQ(TimelineOf(R"(
      %x = input f32[4]
      %w = parameter f32[4]
      %a = mul(%x, %w) : f32[4]
      output %a)"),
            "start: +%x +%w\n"
            "0: +%a\n");
}

TEST(DeriveLifetimes, FreesAResultAfterItsLastUse) {
  EXPECT_EQ(TimelineOf(R"(
      %x = input f32[4]
      %a = relu(%x) : f32[4]
      %b = relu(%a) : f32[4]
      %c = add(%a, %b) : f32[4]
      %d = relu(%c) : f32[4]
      output %d)"),
            "start: +%x\n"
            "0: +%a\n"
            "1: +%b\n"
            "2: +%c -%a -%b\n"
            "3: +%d -%c\n");
}

TEST(DeriveLifetimes, FreesAnUnusedResultWithItsNode) {
  EXPECT_EQ(TimelineOf(R"(
      %x = input f32[4]
      %a, %i = max(%x) : f32[], i64[]
      output %a)"),
            "start: +%x\n"
            "0: +%a +%i -%i\n");
}

TEST(DeriveLifetimes, KeepsAStorageWhileAViewOfItIsUsed) {
  EXPECT_EQ(TimelineOf(R"(
      %x = input f32[4]
      %a = relu(%x) : f32[4]
      %v = view(%a) : f32[2,2] alias %a
      %b = relu(%x) : f32[4]
      %c = relu(%v) : f32[2,2]
      output %c)"),
            "start: +%x\n"
            "0: +%a\n"
            "2: +%b -%b\n"
            "3: +%c -%a\n");
}

TEST(DeriveLifetimes, KeepsAStorageWhoseViewIsAnOutput) {
  EXPECT_EQ(TimelineOf(R"(
      %x = input f32[4]
      %a = relu(%x) : f32[4]
      %v = view(%a) : f32[2,2] alias %a
      output %v)"),
            "start: +%x\n"
            "0: +%a\n");
}

TEST(DeriveLifetimes, GivesAnInPlaceUpdateOfAnInputNoNewLife) {
  EXPECT_EQ(TimelineOf(R"(
      %x = input f32[4]
      %a = relu_(%x) : f32[4] alias %x)"),
            "start: +%x\n");
}

}  // namespace
}  // namespace foretell
