// Parameters of a step in another graph of it, by hand.

#include "src/parallel/follow_trained.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/graph_io.h"

namespace foretell::parallel {
namespace {

constexpr char kStep[] = R"(graph "step" mode=training
%x = input f32[4,4]
%w = parameter f32[4,4]
%y = mm(%x, %w) : f32[4,4]
phase backward
%g = mm(%x, %y) : f32[4,4] gradient
phase optimizer
%n = add_(%w, %g) : f32[4,4] alias %w
output %y
)";
/// The same with another storage before those of %w and its gradient.
constexpr char kLowered[] = R"(graph "step" mode=training
%x = input f32[4,4]
%s = buffer f32[4,4]
%w = parameter f32[4,4]
%y = mm(%x, %w) : f32[4,4]
phase backward
%k = sin(%y) : f32[4,4] backward_temporary
%g = mm(%x, %k) : f32[4,4] gradient
phase optimizer
%n = add_(%w, %g) : f32[4,4] alias %w
output %y
)";

StorageId StorageOf(const OperatorGraph& graph, const std::string& name) {
  for (const Value& value : graph.values()) {
    if (value.name == name) return value.storage;
  }
  return kNone;
}

TEST(FollowTrained, FindsWhatTheOptimizerReads) {
  const OperatorGraph step = ParseGraph(kStep);
  const OperatorGraph lowered = ParseGraph(kLowered);
  const std::vector<TrainedParameter> trained = {
      {.parameter = StorageOf(step, "w"), .gradient = StorageOf(step, "g")}};
  const std::vector<TrainedParameter> followed =
      FollowTrained(step, lowered, trained);
  ASSERT_EQ(followed.size(), 1U);
  EXPECT_EQ(followed[0].parameter, StorageOf(lowered, "w"));
  EXPECT_EQ(followed[0].gradient, StorageOf(lowered, "g"));
  EXPECT_NE(followed[0].parameter, trained[0].parameter);
}

TEST(FollowTrained, RefusesAnotherOptimizer) {
  const OperatorGraph step = ParseGraph(kStep);
  std::string text = kLowered;
  text.replace(text.find("add_"), 4, "sub_");
  EXPECT_THROW(FollowTrained(step, ParseGraph(text), {}), Error);
}

}  // namespace
}  // namespace foretell::parallel
