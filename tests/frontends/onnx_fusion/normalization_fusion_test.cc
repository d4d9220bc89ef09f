#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/onnx/fusion/fuse.h"
#include "tests/frontends/onnx_fusion/model_builder.h"
#include "tests/frontends/onnx_pieces.h"

namespace foretell::onnx {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

using Axes = std::vector<std::int64_t>;

std::string Mean(ModelBuilder& m, const std::string& x, const Axes& axes,
                 std::int64_t keepdims = 1) {
  return m.Op("ReduceMean", {x},
              {MakeInts("axes", axes), MakeInt("keepdims", keepdims)});
}

std::string Deviation(ModelBuilder& m, const std::string& variance) {
  return m.Op("Sqrt", {m.Op("Add", {variance, m.Number(1e-5)})});
}

/// (x - mean) / sqrt(mean((x - mean)²) + ε) over `axes`.
std::string Normalized(ModelBuilder& m, const std::string& x,
                       const Axes& axes) {
  const std::string centered = m.Op("Sub", {x, Mean(m, x, axes)});
  const std::string square = m.Op("Pow", {centered, m.Number(2)});
  return m.Op("Div", {centered, Deviation(m, Mean(m, square, axes))});
}

std::string WithAffine(ModelBuilder& m, const std::string& x,
                       const Axes& shape) {
  const std::string scaled = m.Op("Mul", {x, m.RandomWeight(shape)});
  return m.Op("Add", {scaled, m.RandomWeight(shape)});
}

TEST(NormalizationFusion, LayerNormOfOlderOpsetsBecomesOneOperator) {
  ModelBuilder m(11);
  const std::string x = m.Input({2, 5, 8});
  m.Output(WithAffine(m, Normalized(m, x, {-1}), {8}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.LayerNormalization"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(NormalizationFusion, LayerNormMayReduceSeveralAxes) {
  ModelBuilder m(11);
  const std::string x = m.Input({2, 5, 8});
  m.Output(WithAffine(m, Normalized(m, x, {-2, -1}), {5, 8}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.LayerNormalization"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(NormalizationFusion, LayerNormNeedsNoWeights) {
  ModelBuilder m(11);
  const std::string x = m.Input({2, 5, 8});
  m.Output(Normalized(m, x, {-1}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.LayerNormalization"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(NormalizationFusion, ScaleThatIsComputedStaysOutside) {
  ModelBuilder m(11);
  const std::string x = m.Input({2, 5, 8});
  m.Output(m.Op("Mul", {Normalized(m, x, {-1}), m.Input({2, 1, 8})}));
  EXPECT_THAT(Rewritten(m.model()),
              ElementsAre("foretell.LayerNormalization", "Mul"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(NormalizationFusion, SquareMayBeAProductOfASecondDifference) {
  ModelBuilder m(11);
  const std::string x = m.Input({2, 5, 8});
  const std::string centered = m.Op("Sub", {x, Mean(m, x, {-1})});
  const std::string again = m.Op("Sub", {x, Mean(m, x, {-1})});
  const std::string square = m.Op("Mul", {again, again});
  const std::string y =
      m.Op("Div", {centered, Deviation(m, Mean(m, square, {-1}))});
  m.Output(WithAffine(m, y, {8}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.LayerNormalization"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(NormalizationFusion, NormOverChannelsIsComputedStepByStep) {
  ModelBuilder m(11);
  const std::string x = m.Input({2, 6, 3, 4});
  m.Output(Normalized(m, x, {1}));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(NormalizationFusion, AxesMayBeCountedFromTheFront) {
  ModelBuilder m(11);
  const std::string x = m.Input({2, 5, 8});
  m.Output(WithAffine(m, Normalized(m, x, {2}), {8}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.LayerNormalization"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(NormalizationFusion, MeansOverDifferentAxesAreNoLayerNorm) {
  ModelBuilder m(11);
  const std::string x = m.Input({2, 5, 8});
  const std::string centered = m.Op("Sub", {x, Mean(m, x, {-1})});
  const std::string square = m.Op("Pow", {centered, m.Number(2)});
  m.Output(m.Op("Div", {centered, Deviation(m, Mean(m, square, {-2}))}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
  // It is the RMS norm, over other axes, of a difference.
  EXPECT_THAT(Fused(m.model(), Fusion::kEquivalent),
              ElementsAre("RmsNormalization"));
  EXPECT_TRUE(ComputesTheSame(m.model(), Fusion::kEquivalent));
}

TEST(NormalizationFusion, CubeIsNoVariance) {
  ModelBuilder m(11);
  const std::string x = m.Input({2, 5, 8});
  const std::string centered = m.Op("Sub", {x, Mean(m, x, {-1})});
  const std::string cube = m.Op("Pow", {centered, m.Number(3)});
  m.Output(m.Op("Div", {centered, Deviation(m, Mean(m, cube, {-1}))}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

TEST(NormalizationFusion, MeanThatIsReadElsewhereKeepsThePattern) {
  ModelBuilder m(11);
  const std::string x = m.Input({2, 5, 8});
  const std::string mean = Mean(m, x, {-1});
  const std::string centered = m.Op("Sub", {x, mean});
  const std::string square = m.Op("Mul", {centered, centered});
  m.Output(m.Op("Div", {centered, Deviation(m, Mean(m, square, {-1}))}));
  m.Output(mean);
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

// ---- RMS norm --------------------------------------------------------------

/// x / sqrt(mean(x²) + ε) as the exporter decomposes it.
std::string OverRootMeanSquare(ModelBuilder& m, const std::string& x,
                               const Axes& axes) {
  const std::string square = m.Op("Pow", {x, m.Number(2)});
  const std::string root = Deviation(m, Mean(m, square, axes));
  return m.Op("Mul", {x, m.Op("Reciprocal", {root})});
}

TEST(NormalizationFusion, DecomposedRmsNormBecomesOneOperator) {
  for (const std::int64_t axis : {-1, 2}) {
    ModelBuilder m;
    const std::string x = m.Input({2, 5, 8});
    const std::string y = OverRootMeanSquare(m, x, {axis});
    m.Output(m.Op("Mul", {y, m.RandomWeight({8})}));
    EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.RmsNormalization"));
    EXPECT_TRUE(ComputesTheSame(m.model()));
  }
}

TEST(NormalizationFusion, RmsNormOverChannelsIsComputedStepByStep) {
  ModelBuilder m;
  const std::string x = m.Input({2, 5, 8});
  const std::string y = OverRootMeanSquare(m, x, {1});
  m.Output(m.Op("Mul", {y, m.RandomWeight({8})}));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(NormalizationFusion, RmsNormThatTheModelWritesOutStaysUnlessAskedFor) {
  ModelBuilder m;
  const std::string x = m.Input({2, 5, 8});
  const std::string y = OverRootMeanSquare(m, x, {-1});
  m.Output(m.Op("Mul", {m.RandomWeight({8}), y}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
  EXPECT_THAT(Rewritten(m.model(), Fusion::kEquivalent),
              ElementsAre("foretell.RmsNormalization"));
  EXPECT_TRUE(ComputesTheSame(m.model(), Fusion::kEquivalent));
}

TEST(NormalizationFusion, RootMeanSquareOfAnotherValueIsNoNorm) {
  ModelBuilder m;
  const std::string x = m.Input({2, 5, 8});
  const std::string square = m.Op("Pow", {m.Input({2, 5, 8}), m.Number(2)});
  const std::string root = Deviation(m, Mean(m, square, {-1}));
  const std::string y = m.Op("Mul", {x, m.Op("Reciprocal", {root})});
  m.Output(m.Op("Mul", {y, m.RandomWeight({8})}));
  EXPECT_THAT(Fused(m.model(), Fusion::kEquivalent), IsEmpty());
}

// ---- Group norm ------------------------------------------------------------

/// The exporter's group norm of `groups`, without weights.
std::string Grouped(ModelBuilder& m, const std::string& x, std::int64_t groups,
                    const at::Tensor& scale, const Axes& after = {}) {
  const std::string before = m.Op("Reshape", {x, m.Integers({0, groups, -1})});
  const std::string norm =
      m.Op("InstanceNormalization",
           {before, m.Weight(scale), m.Weight(at::zeros({groups}))},
           {MakeFloat("epsilon", 1e-5)});
  const std::string shape =
      after.empty() ? m.Op("Shape", {x}) : m.Integers(after);
  return m.Op("Reshape", {norm, shape});
}

TEST(NormalizationFusion, GroupNormByInstanceNormBecomesOneOperator) {
  ModelBuilder m;
  const std::string x = m.Input({2, 6, 3, 4});
  m.Output(WithAffine(m, Grouped(m, x, 2, at::ones({2})), {6, 1, 1}));
  EXPECT_THAT(Rewritten(m.model()),
              ElementsAre("Shape", "foretell.GroupNormalization"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

/// γ or β [channels] as an export in training mode has it: unsqueezed by a
/// node.
std::string Unsqueezed(ModelBuilder& m, std::int64_t channels,
                       const Axes& axes) {
  return m.Op("Unsqueeze", {m.RandomWeight({channels}), m.Integers(axes)});
}

TEST(NormalizationFusion, GroupNormTakesTheWeightsThatNodesUnsqueeze) {
  ModelBuilder m;
  const std::string x = m.Input({2, 6, 3, 4});
  const std::string scaled =
      m.Op("Mul", {Grouped(m, x, 2, at::ones({2})), Unsqueezed(m, 6, {1, 2})});
  m.Output(m.Op("Add", {scaled, Unsqueezed(m, 6, {1, 2})}));
  EXPECT_THAT(Rewritten(m.model()),
              ElementsAre("Shape", "foretell.GroupNormalization"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(NormalizationFusion, UnsqueezedWeightsOfAnotherAxisAreAppliedAsWritten) {
  for (const Axes& axes : {Axes{1}, Axes{0, 1}, Axes{1, 2, 3}}) {
    ModelBuilder m;
    const std::string x = m.Input({6, 6, 6, 6});
    m.Output(
        m.Op("Mul", {Grouped(m, x, 2, at::ones({2})), Unsqueezed(m, 6, axes)}));
    EXPECT_TRUE(ComputesTheSame(m.model())) << at::IntArrayRef(axes);
  }
}

TEST(NormalizationFusion, GroupNormNeedsNoWeights) {
  ModelBuilder m;
  const std::string x = m.Input({2, 6, 3, 4});
  m.Output(Grouped(m, x, 3, at::ones({3})));
  EXPECT_THAT(Fused(m.model()), ElementsAre("GroupNormalization"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

std::string Filled(ModelBuilder& m, const Axes& shape, double value) {
  Attribute attribute{.name = "value", .kind = Attribute::Kind::kTensor};
  attribute.tensors = {LiteralOf("", at::full(shape, value))};
  return m.Op("Constant", {}, {attribute});
}

TEST(NormalizationFusion, GroupNormLeavesOutConstantsThatChangeNothing) {
  for (const bool unsqueezes : {false, true}) {
    ModelBuilder m;
    const auto constant = [&](double value) {
      return unsqueezes ? m.Op("Unsqueeze",
                               {Filled(m, {1}, value), m.Integers({1, 2})})
                        : Filled(m, {1, 1, 1}, value);
    };
    const std::string x = m.Input({2, 6, 3, 4});
    const std::string norm = Grouped(m, x, 2, at::ones({2}));
    const std::string scaled = m.Op("Mul", {norm, constant(1)});
    m.Output(m.Op("Add", {scaled, constant(0)}));
    EXPECT_THAT(Fused(m.model()), ElementsAre("GroupNormalization"));
    EXPECT_THAT(Rewritten(m.model()), Not(Contains("Mul")));
    EXPECT_TRUE(ComputesTheSame(m.model()));
  }
}

TEST(NormalizationFusion, GroupNormAppliesConstantsThatChangeSomething) {
  for (const Axes& shape : {Axes{1, 1, 1}, Axes{1, 1, 1, 1, 1}}) {
    const double scale = shape.size() == 3 ? 2 : 1;
    ModelBuilder m;
    const std::string x = m.Input({6, 6, 3, 4});
    const std::string norm = Grouped(m, x, 2, at::ones({2}));
    const std::string scaled = m.Op("Mul", {norm, Filled(m, shape, scale)});
    m.Output(m.Op("Add", {scaled, Filled(m, shape, 0)}));
    EXPECT_TRUE(ComputesTheSame(m.model())) << at::IntArrayRef(shape);
  }
}

TEST(NormalizationFusion, GroupsThatSplitChannelsAreComputedStepByStep) {
  ModelBuilder m;
  const std::string x = m.Input({2, 6, 3, 4});
  m.Output(WithAffine(m, Grouped(m, x, 4, at::ones({4})), {6, 1, 1}));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(NormalizationFusion, GroupNormIntoAnotherShapeIsComputedStepByStep) {
  ModelBuilder m;
  const std::string x = m.Input({2, 6, 3, 4});
  m.Output(Grouped(m, x, 2, at::ones({2}), {0, 2, 3, -1}));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(NormalizationFusion, InstanceNormThatScalesIsNoGroupNorm) {
  ModelBuilder m;
  const std::string x = m.Input({2, 6, 3, 4});
  m.Output(Grouped(m, x, 2, at::full({2}, 1.5)));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

/// A weight [1, channels, 6] that is standardised as exporters write it: a
/// batch norm in training mode whose running statistics are those of a copy of
/// the weight [1, 6, channels]. Returns the names of its three outputs.
std::vector<std::string> Standardised(ModelBuilder& m, bool has_own) {
  constexpr std::int64_t kChannels = 4;
  const at::Tensor weight = at::rand({1, kChannels, 6});
  const std::string copy = m.Weight(weight.transpose(1, 2).contiguous());
  const std::string mean = Mean(m, copy, {0, 1}, 0);
  const std::string centered = m.Op("Sub", {copy, Mean(m, copy, {0, 1})});
  const std::string square = m.Op("Mul", {centered, centered});
  const std::string variance = Mean(m, square, {0, 1}, 0);
  const std::string own = m.Weight(at::ones({kChannels}));
  const std::string standard =
      m.Op("BatchNormalization",
           {m.Weight(weight), m.Weight(at::ones({kChannels})),
            m.Weight(at::zeros({kChannels})), has_own ? own : mean,
            has_own ? own : variance},
           {MakeFloat("epsilon", 1e-5), MakeFloat("momentum", 1),
            MakeInt("training_mode", 1)});
  Node& norm = m.model().graph.nodes.back();
  norm.outputs.push_back("kept_mean");
  norm.outputs.push_back("kept_variance");
  return {standard, "kept_mean", "kept_variance"};
}

TEST(NormalizationFusion, AStandardisedWeightHasNoRunningStatistics) {
  ModelBuilder m;
  m.Output(Standardised(m, /*has_own=*/false)[0]);
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.BatchNormalization"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
  // The weight, 1 and 0 stay; its copy goes with what read it.
  const Model fused = RecogniseFusedPatterns(m.model());
  EXPECT_EQ(fused.FloatInitializerElements(), 24 + 4 + 4 + 4);
}

TEST(NormalizationFusion, StatisticsOfANetworksOwnStay) {
  ModelBuilder m;
  m.Output(Standardised(m, /*has_own=*/true)[0]);
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

// Exporters write equal initializers once, and the others as Identity of it.
TEST(NormalizationFusion, MergedStatisticsOfANetworksOwnStay) {
  ModelBuilder m;
  const std::string zeros = m.Weight(at::zeros({4}));
  const std::string ones = m.Weight(at::ones({4}));
  m.Output(m.Op("BatchNormalization",
                {m.Input({2, 4, 6}), ones, zeros, m.Op("Identity", {zeros}),
                 m.Op("Identity", {ones})},
                {MakeInt("training_mode", 1)}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

TEST(NormalizationFusion, StatisticsThatAreReadStay) {
  ModelBuilder m;
  const std::vector<std::string> outputs = Standardised(m, /*has_own=*/false);
  m.Output(outputs[0]);
  m.Output(outputs[1]);
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

}  // namespace
}  // namespace foretell::onnx
