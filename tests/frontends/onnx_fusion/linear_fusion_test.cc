#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/trace.h"
#include "frontends/onnx/fusion/fuse.h"
#include "frontends/onnx/onnx_program.h"
#include "tests/frontends/onnx_fusion/model_builder.h"
#include "tests/program/trace_queries.h"

namespace foretell::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LinearFusion, ProductWithAWeightAndABiasIsALayer) {
  for (const bool is_bias_first : {false, true}) {
    ModelBuilder m;
    const std::string product =
        m.Op("MatMul", {m.Input({2, 5, 8}), m.RandomWeight({8, 3})});
    const std::string bias = m.RandomWeight({3});
    m.Output(is_bias_first ? m.Op("Add", {bias, product})
                           : m.Op("Add", {product, bias}));
    EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Linear"));
    EXPECT_TRUE(ComputesTheSame(m.model()));
  }
}

TEST(LinearFusion, ALayerMayHaveNoBias) {
  ModelBuilder m;
  m.Output(m.Op("MatMul", {m.Input({2, 5, 8}), m.RandomWeight({8, 3})}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Linear"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(LinearFusion, BiasOfAnotherSizeStaysOutside) {
  ModelBuilder m;
  const std::string product =
      m.Op("MatMul", {m.Input({2, 5, 8}), m.RandomWeight({8, 3})});
  m.Output(m.Op("Add", {product, m.RandomWeight({1})}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Linear", "Add"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(LinearFusion, ProductThatIsReadTwiceKeepsItsSum) {
  ModelBuilder m;
  const std::string product =
      m.Op("MatMul", {m.Input({2, 5, 8}), m.RandomWeight({8, 3})});
  m.Output(m.Op("Add", {product, m.RandomWeight({3})}));
  m.Output(product);
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Linear", "Add"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(LinearFusion, TransposedWeightIsTheLayersOwn) {
  ModelBuilder m;
  const std::string weight = m.RandomWeight({3, 8});
  const std::string transposed =
      m.Op("Transpose", {weight}, {MakeInts("perm", {1, 0})});
  const std::string product = m.Op("MatMul", {m.Input({2, 5, 8}), transposed});
  m.Output(m.Op("Add", {product, m.RandomWeight({3})}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Linear"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(LinearFusion, WeightsMayBeSharedThroughIdentity) {
  ModelBuilder m;
  const std::string weight = m.RandomWeight({8, 8});
  const std::string x = m.Input({2, 5, 8});
  const std::string y = m.Op("MatMul", {x, weight});
  m.Output(m.Op("MatMul", {y, m.Op("Identity", {weight})}));
  EXPECT_THAT(Fused(m.model()), ElementsAre("Linear", "Linear"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(LinearFusion, ProductsOfActivationsStay) {
  ModelBuilder m;
  m.Output(m.Op("MatMul", {m.Input({2, 5, 8}), m.Input({8, 3})}));
  m.Output(m.Op("MatMul", {m.RandomWeight({3, 5}), m.Input({2, 5, 8})}));
  m.Output(m.Op("MatMul", {m.Input({2, 5, 8}), m.RandomWeight({2, 8, 3})}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

TEST(LinearFusion, MacsAndParametersDoNotChange) {
  ModelBuilder m;
  const std::string x = m.Input({2, 5, 8});
  const std::string product = m.Op("MatMul", {x, m.RandomWeight({8, 3})});
  m.Output(m.Op("Add", {product, m.RandomWeight({3})}));
  const std::vector<BoundInput> inputs = {{x, {DType::kF32, {2, 5, 8}}}};
  for (const Fusion fusion : {Fusion::kOff, Fusion::kExported}) {
    const Program program = MakeProgram(m.model(), {.fusion = fusion});
    EXPECT_EQ(program.parameter_elements(), 8 * 3 + 3);
    const Trace trace = TraceProgram(program, inputs);
    std::int64_t macs = 0;
    for (const foretell::Node& node : trace.graph.nodes()) macs += node.macs;
    EXPECT_EQ(macs, 2 * 5 * 8 * 3);
  }
}

TEST(LinearFusion, OnMetaTheLayerIsOneOperator) {
  ModelBuilder m;
  const std::string x = m.Input({2, 5, 8});
  const std::string product = m.Op("MatMul", {x, m.RandomWeight({8, 3})});
  m.Output(m.Op("Add", {product, m.RandomWeight({3})}));
  const Trace trace =
      TraceProgram(MakeProgram(m.model()), {{x, {DType::kF32, {2, 5, 8}}}});
  ASSERT_EQ(trace.graph.nodes().size(), 1);
  EXPECT_EQ(trace.graph.nodes()[0].target, "linear");
}

TEST(LinearFusion, UnderAutocastTheCastOfTheLayersWeightIsKept) {
  ModelBuilder m;
  const std::string x = m.Input({2, 5, 8});
  const std::string y = m.Op("MatMul", {x, m.RandomWeight({8, 3})});
  m.Output(m.Op("Relu", {m.Op("MatMul", {y, m.RandomWeight({3, 4})})}));
  const OperatorGraph graph =
      TraceProgram(MakeProgram(m.model()), {{x, {DType::kF32, {2, 5, 8}}}},
                   {.run = {.autocast = true}})
          .graph;
  ASSERT_THAT(TargetsOf(graph),
              ElementsAre("to", "to", "linear", "to", "linear", "relu"));
  EXPECT_EQ(DeathOf(graph, graph.node(0).outputs[0]), 2);
  EXPECT_EQ(DeathOf(graph, graph.node(1).outputs[0]), 5);
  EXPECT_EQ(DeathOf(graph, graph.node(3).outputs[0]), 5);
}

}  // namespace
}  // namespace foretell::onnx
