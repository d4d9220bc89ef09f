#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "foretell/trace.h"
#include "frontends/onnx/onnx_program.h"
#include "tests/frontends/onnx_fusion/model_builder.h"

namespace foretell::onnx {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

/// √(1 / √size), computed from the shape of q as the exporter writes it.
std::string RootOfScale(ModelBuilder& m, const std::string& q) {
  const std::string size =
      m.Op("Slice", {m.Op("Shape", {q}), m.Integers({-1}), m.Integers({kEnd})});
  const std::string number = m.Op("Cast", {size}, {MakeInt("to", kOnnxFloat)});
  const std::string one = m.Weight(at::tensor({1.0f}));
  const std::string scale = m.Op("Div", {one, m.Op("Sqrt", {number})});
  return m.Op("Sqrt", {scale});
}

std::string Transposed(ModelBuilder& m, const std::string& k,
                       std::vector<std::int64_t> perm = {0, 1, 3, 2}) {
  return m.Op("Transpose", {k}, {MakeInts("perm", std::move(perm))});
}

std::string Softmax(ModelBuilder& m, const std::string& x,
                    std::int64_t axis = -1) {
  return m.Op("Softmax", {x}, {MakeInt("axis", axis)});
}

/// q · f and kᵀ · f multiplied, f being a constant.
std::string Scores(ModelBuilder& m, const std::string& q,
                   const std::string& k_transposed) {
  const std::string root = m.Number(0.5);
  return m.Op("MatMul",
              {m.Op("Mul", {q, root}), m.Op("Mul", {k_transposed, root})});
}

TEST(AttentionFusion, ExportedAttentionBecomesOneKernel) {
  ModelBuilder m;
  const std::string q = m.Input({2, 3, 5, 4});
  const std::string k = m.Input({2, 3, 7, 4});
  const std::string v = m.Input({2, 3, 7, 6});
  const std::string scaled_q = m.Op("Mul", {q, RootOfScale(m, q)});
  const std::string scaled_k =
      m.Op("Mul", {Transposed(m, k), RootOfScale(m, q)});
  const std::string weights = Softmax(m, m.Op("MatMul", {scaled_q, scaled_k}));
  m.Output(m.Op("MatMul", {weights, v}));
  EXPECT_THAT(Fused(m.model()), ElementsAre("Attention"));
  EXPECT_THAT(Rewritten(m.model()), Not(Contains("Softmax")));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionFusion, OnMetaItIsExactlyOneOperatorOfTheSameMacs) {
  ModelBuilder m;
  const std::string q = m.Input({2, 3, 5, 4});
  const std::string k = m.Input({2, 3, 7, 4});
  const std::string v = m.Input({2, 3, 7, 6});
  const std::string weights = Softmax(m, Scores(m, q, Transposed(m, k)));
  m.Output(m.Op("MatMul", {weights, v}));
  const std::vector<BoundInput> inputs = {{q, {DType::kF32, {2, 3, 5, 4}}},
                                          {k, {DType::kF32, {2, 3, 7, 4}}},
                                          {v, {DType::kF32, {2, 3, 7, 6}}}};
  const auto trace = [&](Fusion fusion) {
    return TraceProgram(MakeProgram(m.model(), {.fusion = fusion}), inputs);
  };
  const auto macs = [](const Trace& result) {
    std::int64_t sum = 0;
    for (const foretell::Node& node : result.graph.nodes()) sum += node.macs;
    return sum;
  };
  const Trace fused = trace(Fusion::kExported);
  ASSERT_EQ(fused.graph.nodes().size(), 1);
  EXPECT_EQ(fused.graph.nodes()[0].target, "scaled_dot_product_attention");
  EXPECT_EQ(macs(fused), 2 * 3 * 5 * 7 * (4 + 6));
  EXPECT_EQ(macs(trace(Fusion::kOff)), macs(fused));
}

/// What the dynamo exporter makes of enable_gqa: two heads of keys and values,
/// each repeated twice, and kᵀ by a transposition of three dimensions.
Model SharedHeads(std::int64_t allowzero, std::int64_t times = 2) {
  ModelBuilder m(20);
  const std::string q = m.Input({2, 4, 5, 4});
  const auto repeated = [&](const std::string& x) {
    const std::string expanded =
        m.Op("Expand", {m.Op("Unsqueeze", {x, m.Integers({2})}),
                        m.Integers({2, 4 / times, times, 7, 4})});
    return m.Op("Reshape", {expanded, m.Integers({2, 4, 7, 4})},
                {MakeInt("allowzero", allowzero)});
  };
  const std::string k = repeated(m.Input({2, 4 / times, 7, 4}));
  const std::string v = repeated(m.Input({2, 4 / times, 7, 4}));
  const std::string folded = m.Op("Reshape", {k, m.Integers({-1, 7, 4})});
  const std::string turned =
      m.Op("Transpose", {folded}, {MakeInts("perm", {0, 2, 1})});
  const std::string kt = m.Op("Reshape", {turned, m.Integers({2, 4, 4, 7})});
  m.Output(m.Op("MatMul", {Softmax(m, Scores(m, q, kt)), v}));
  return m.model();
}

TEST(AttentionFusion, RepeatedHeadsOfTheExporterAreSharedAgain) {
  const Model model = SharedHeads(/*allowzero=*/0);
  EXPECT_THAT(Rewritten(model), ElementsAre("foretell.Attention"));
  EXPECT_THAT(TracedOperators(model),
              ElementsAre("scaled_dot_product_attention"));
  EXPECT_TRUE(ComputesTheSame(model));
  EXPECT_TRUE(ComputesTheSame(SharedHeads(/*allowzero=*/0, /*times=*/4)));
}

TEST(AttentionFusion, HeadsThatTheNetworkRepeatsStayRepeated) {
  const Model model = SharedHeads(/*allowzero=*/1);
  EXPECT_THAT(Rewritten(model), Contains("Expand"));
  EXPECT_TRUE(ComputesTheSame(model));
}

TEST(AttentionFusion, MergedPermutationOfKeysIsUndone) {
  ModelBuilder m;
  const std::string q = m.Input({2, 3, 5, 4});
  const std::string k = m.Input({2, 7, 3, 4});  // [batch, keys, heads, size]
  const std::string v = m.Input({2, 3, 7, 6});
  const std::string weights =
      Softmax(m, Scores(m, q, Transposed(m, k, {0, 2, 3, 1})));
  m.Output(m.Op("MatMul", {weights, v}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Attention"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionFusion, KeysThatNobodyTransposedAreTurned) {
  ModelBuilder m;
  const std::string q = m.Input({2, 3, 5, 4});
  const std::string k = m.Input({2, 3, 4, 7});
  const std::string v = m.Input({2, 3, 7, 6});
  m.Output(m.Op("MatMul", {Softmax(m, Scores(m, q, k)), v}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Attention"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

/// kᵀ by way of three dimensions, `folded` being the first Reshape's shape.
std::string FoldedTranspose(ModelBuilder& m, const std::string& k,
                            std::vector<std::int64_t> folded,
                            std::vector<std::int64_t> unfolded) {
  const std::string three = m.Op("Reshape", {k, m.Integers(std::move(folded))});
  return m.Op("Reshape", {Transposed(m, three, {0, 2, 1}),
                          m.Integers(std::move(unfolded))});
}

TEST(AttentionFusion, TranspositionInThreeDimensionsIsUndone) {
  ModelBuilder m(20);
  const std::string q = m.Input({2, 3, 5, 4});
  const std::string k = m.Input({2, 3, 7, 4});
  const std::string v = m.Input({2, 3, 7, 6});
  const std::string turned = FoldedTranspose(m, k, {-1, 7, 4}, {2, 3, 4, 7});
  m.Output(m.Op("MatMul", {Softmax(m, Scores(m, q, turned)), v}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Attention"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionFusion, OtherReshapesAroundATranspositionAreKept) {
  ModelBuilder m(20);
  const std::string q = m.Input({2, 3, 5, 4});
  const std::string k = m.Input({2, 3, 7, 4});
  const std::string v = m.Input({2, 3, 7, 6});
  const std::string turned = FoldedTranspose(m, k, {-1, 4, 7}, {2, 3, 4, 7});
  m.Output(m.Op("MatMul", {Softmax(m, Scores(m, q, turned)), v}));
  EXPECT_THAT(Fused(m.model()), ElementsAre("Attention"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionFusion, BatchDimensionsThatBroadcastAreComputedStepByStep) {
  ModelBuilder m;
  const std::string q = m.Input({2, 3, 5, 4});
  const std::string k = m.Input({1, 3, 7, 4});
  const std::string v = m.Input({3, 7, 6});
  const std::string weights = Softmax(m, Scores(m, q, Transposed(m, k)));
  m.Output(m.Op("MatMul", {weights, v}));
  EXPECT_THAT(Fused(m.model()), ElementsAre("Attention"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionFusion, FactorPerFeatureStaysAFactorOfTheQuery) {
  ModelBuilder m;
  const std::string q = m.Input({1, 5, 4});
  const std::string k = m.Input({1, 7, 4});
  const std::string v = m.Input({1, 7, 4});
  const std::string factor = m.Weight(at::tensor({0.5f, 1.0f, 2.0f, 4.0f}));
  const std::string scaled_k =
      m.Op("Mul", {Transposed(m, k, {0, 2, 1}), m.Number(0.5)});
  const std::string scores =
      m.Op("MatMul", {m.Op("Mul", {q, factor}), scaled_k});
  m.Output(m.Op("MatMul", {Softmax(m, scores), v}));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionFusion, AttentionThatTheModelWritesOutStaysUnlessAskedFor) {
  using Form = std::string (*)(ModelBuilder&, const std::string& q,
                               const std::string& k_transposed);
  const Form forms[] = {
      [](ModelBuilder& m, const std::string& q, const std::string& k) {
        return m.Op("MatMul", {m.Op("Mul", {q, m.Number(0.5)}), k});
      },
      [](ModelBuilder& m, const std::string& q, const std::string& k) {
        return m.Op("Div", {m.Op("MatMul", {q, k}), m.Number(2)});
      },
      [](ModelBuilder& m, const std::string& q, const std::string& k) {
        return m.Op("MatMul", {q, k});
      }};
  for (const Form form : forms) {
    ModelBuilder m;
    const std::string q = m.Input({2, 3, 5, 4});
    const std::string k = m.Input({2, 3, 7, 4});
    const std::string v = m.Input({2, 3, 7, 6});
    const std::string scores = form(m, q, Transposed(m, k));
    m.Output(m.Op("MatMul", {Softmax(m, scores), v}));
    EXPECT_THAT(Fused(m.model()), IsEmpty());
    EXPECT_THAT(Rewritten(m.model(), Fusion::kEquivalent),
                ElementsAre("foretell.Attention"));
    EXPECT_TRUE(ComputesTheSame(m.model(), Fusion::kEquivalent));
  }
}

TEST(AttentionFusion, DividingByTheScoresIsNoScale) {
  ModelBuilder m;
  const std::string q = m.Input({2, 5, 4});
  const std::string k = m.Input({2, 4, 7});
  const std::string v = m.Input({2, 7, 6});
  const std::string scores = m.Op("Div", {m.Number(2), m.Op("MatMul", {q, k})});
  m.Output(m.Op("MatMul", {Softmax(m, scores), v}));
  EXPECT_THAT(Fused(m.model(), Fusion::kEquivalent), IsEmpty());
}

TEST(AttentionFusion, SoftmaxOverQueriesIsNoAttention) {
  ModelBuilder m;
  const std::string q = m.Input({2, 3, 5, 4});
  const std::string k = m.Input({2, 3, 5, 4});
  const std::string weights = Softmax(m, Scores(m, q, Transposed(m, k)), -2);
  m.Output(m.Op("MatMul", {weights, m.Input({2, 3, 5, 6})}));
  EXPECT_THAT(Fused(m.model(), Fusion::kEquivalent), IsEmpty());
}

TEST(AttentionFusion, SoftmaxWithoutAxisIsOverKeysFromVersion13Only) {
  for (const std::int64_t opset : {12, 13}) {
    ModelBuilder m(opset);
    const std::string q = m.Input({2, 3, 5, 4});
    const std::string k = m.Input({2, 3, 7, 4});
    const std::string weights =
        m.Op("Softmax", {Scores(m, q, Transposed(m, k))});
    m.Output(m.Op("MatMul", {weights, m.Input({2, 3, 7, 6})}));
    EXPECT_EQ(Fused(m.model()).size(), opset == 13 ? 1 : 0);
    EXPECT_TRUE(ComputesTheSame(m.model()));
  }
}

TEST(AttentionFusion, ProbabilitiesAsSecondOperandAreNoAttention) {
  ModelBuilder m;
  const std::string q = m.Input({2, 3, 5, 4});
  const std::string k = m.Input({2, 3, 5, 4});
  const std::string weights = Softmax(m, Scores(m, q, Transposed(m, k)));
  m.Output(m.Op("MatMul", {m.Input({2, 3, 6, 5}), weights}));
  EXPECT_THAT(Fused(m.model(), Fusion::kEquivalent), IsEmpty());
}

TEST(AttentionFusion, WeightsThatAreAnOutputKeepThePattern) {
  ModelBuilder m;
  const std::string q = m.Input({2, 3, 5, 4});
  const std::string k = m.Input({2, 3, 7, 4});
  const std::string weights = Softmax(m, Scores(m, q, Transposed(m, k)));
  m.Output(weights);
  m.Output(m.Op("MatMul", {weights, m.Input({2, 3, 7, 6})}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

TEST(AttentionFusion, ScaleThatDependsOnDataIsNone) {
  ModelBuilder m;
  const std::string q = m.Input({2, 3, 5, 4});
  const std::string k = m.Input({2, 3, 7, 4});
  const std::string temperature = m.Input({1});
  const std::string scaled_k = m.Op("Mul", {Transposed(m, k), m.Number(0.5)});
  const std::string scores =
      m.Op("MatMul", {m.Op("Mul", {q, temperature}), scaled_k});
  m.Output(m.Op("MatMul", {Softmax(m, scores), m.Input({2, 3, 7, 6})}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

TEST(AttentionFusion, DropoutAfterTheSoftmaxDoesNothingInInference) {
  ModelBuilder m;
  const std::string q = m.Input({2, 3, 5, 4});
  const std::string k = m.Input({2, 3, 7, 4});
  const std::string weights = Softmax(m, Scores(m, q, Transposed(m, k)));
  const std::string kept = m.Op("Dropout", {weights, m.Number(0.1)});
  m.Output(m.Op("MatMul", {kept, m.Input({2, 3, 7, 6})}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Attention"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

}  // namespace
}  // namespace foretell::onnx
