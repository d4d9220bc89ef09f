// What compiled flex_attention keeps, counted by hand from Inductor's lowering.

#include "src/program/flex_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/error.h"
#include "tests/program/fake_program.h"
#include "tests/program/trace_queries.h"

namespace foretell::flex_attention_test {
namespace {

using program_test::FakeProgram;
using program_test::Tensors;
using program_test::Weights;
using testing::ElementsAre;

/// Four heads of `width` over 32 tokens, two of keys and values.
OperatorGraph TrainFlex(std::int64_t width, std::int64_t key_heads = 2) {
  const std::vector<BoundInput> inputs = {
      {"x", {DType::kF32, {1, 4, 32, width}}}};
  const program_test::Network network = [=](Weights& weights) {
    const at::Tensor scale = weights.Parameter("scale", {width});
    return [=](Tensors x) -> Tensors {
      const at::Tensor q = x[0] * scale;
      const at::Tensor k = q.narrow(1, 0, key_heads);
      return {FlexAttention(q, k, k)};
    };
  };
  return TraceProgram(FakeProgram("net", inputs, network), inputs,
                      {.run = {.mode = Mode::kTraining}})
      .graph;
}

std::vector<std::string> TypesOf(const OperatorGraph& graph, OpKind kind) {
  std::vector<std::string> types;
  for (const Node& node : graph.nodes()) {
    if (node.kind != kind) continue;
    for (const ValueId id : node.outputs) {
      types.push_back(ToString(graph.value(id).type));
    }
  }
  return types;
}

TEST(FlexAttention, HasOneNumberPerRowInsteadOfScores) {
  const OperatorGraph graph = TrainFlex(16);
  EXPECT_THAT(TypesOf(graph, OpKind::kAttention),
              ElementsAre("f32[1,4,32,16]", "f32[1,4,32]", "f32[1,4,32]"));
  EXPECT_THAT(
      TypesOf(graph, OpKind::kAttentionBackward),
      ElementsAre("f32[1,4,32,16]", "f32[1,2,32,16]", "f32[1,2,32,16]"));
}

TEST(FlexAttention, CountsBothProductsOfAllPairs) {
  // Forward two products of 4 x 32 x 32 x 16, backward five.
  std::int64_t macs = 0;
  for (const Node& node : TrainFlex(16).nodes()) macs += node.macs;
  EXPECT_EQ(macs, (2 + 5) * 4 * 32 * 32 * 16);
}

TEST(FlexAttention, RefusesHeadsThatItsKernelsRefuse) {
  EXPECT_THROW(TrainFlex(8), Error);
  EXPECT_THROW(TrainFlex(16, 3), Error);
}

}  // namespace
}  // namespace foretell::flex_attention_test
