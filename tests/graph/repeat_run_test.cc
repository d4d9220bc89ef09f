#include "src/graph/repeat_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/graph_io.h"

namespace foretell {
namespace {

/// Three runs of one operator, each of which reads the result of the run
/// before, and what reads the last.
constexpr char kRuns[] = R"(graph "runs"
%x = input f32[4]
%w = parameter f32[4]
%0 = add(%w, %x) : f32[4]
%1 = add(%w, %0) : f32[4]
%2 = add(%w, %1) : f32[4]
%3 = relu(%2) : f32[4]
output %3
)";
constexpr RepeatedRun kLast = {.previous = 1, .last = 2, .end = 3};

TEST(RepeatRun, StandsToTheRunBeforeAsTheLastToThePrevious) {
  const OperatorGraph expected = ParseGraph(R"(graph "runs"
%x = input f32[4]
%w = parameter f32[4]
%0 = add(%w, %x) : f32[4]
%1 = add(%w, %0) : f32[4]
%2 = add(%w, %1) : f32[4]
%2.batch4 = add(%w, %2) : f32[4]
%2.batch5 = add(%w, %2.batch4) : f32[4]
%3 = relu(%2.batch5) : f32[4]
output %3
)");
  const auto repeated = RepeatRun(ParseGraph(kRuns), kLast, 2);
  ASSERT_TRUE(repeated);
  EXPECT_EQ(PrintGraph(*repeated), PrintGraph(expected));
  EXPECT_EQ(repeated->Edges(), expected.Edges());
  for (const StorageId storage : {2, 3, 4}) {
    EXPECT_EQ(repeated->storage(storage).bytes, 16);
  }
}

TEST(RepeatRun, KeepsHowTensorsLie) {
  std::string text = kRuns;
  for (std::size_t at = 0; (at = text.find("f32[4]", at)) != text.npos;) {
    text.replace(at, 6, "f32[2,3] strides=[1, 2]");
    at += 6;
  }
  const auto repeated = RepeatRun(ParseGraph(text), kLast, 2);
  ASSERT_TRUE(repeated);
  for (const Value& value : repeated->values()) {
    EXPECT_THAT(value.strides, testing::ElementsAre(1, 2)) << value.name;
  }
}

TEST(RepeatRun, RefusesRunsThatDiffer) {
  const std::string text = kRuns;
  std::string other = text;
  other.replace(other.find("%2 = add"), 8, "%2 = mul");
  EXPECT_FALSE(RepeatRun(ParseGraph(other), kLast, 2));
  EXPECT_FALSE(RepeatRun(ParseGraph(text), {0, 2, 3}, 2));
}

TEST(RepeatRun, RefusesRunsThatLeaveMoreAliveEachTime) {
  std::string kept = kRuns;
  kept.replace(kept.find("relu(%2)"), 8, "add(%2, %1)");
  EXPECT_FALSE(RepeatRun(ParseGraph(kept), kLast, 2));
}

}  // namespace
}  // namespace foretell
