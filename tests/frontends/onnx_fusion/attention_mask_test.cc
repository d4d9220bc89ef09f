#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "frontends/onnx/fusion/fuse.h"
#include "tests/frontends/onnx_fusion/model_builder.h"

namespace foretell::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// An attention whose scores still lack their mask.
struct Parts {
  std::string q, k, v, scores;
};

Parts MakeParts(ModelBuilder& m) {
  Parts parts{m.Input({2, 3, 5, 4}), m.Input({2, 3, 7, 4}),
              m.Input({2, 3, 7, 6}), ""};
  const std::string turned =
      m.Op("Transpose", {parts.k}, {MakeInts("perm", {0, 1, 3, 2})});
  const std::string root = m.Number(0.5);
  parts.scores = m.Op(
      "MatMul", {m.Op("Mul", {parts.q, root}), m.Op("Mul", {turned, root})});
  return parts;
}

std::string MaskedSoftmax(ModelBuilder& m, const std::string& x) {
  return m.Op("Softmax", {x}, {MakeInt("axis", -1)});
}

void Finish(ModelBuilder& m, const Parts& parts, const std::string& mask) {
  const std::string masked = m.Op("Add", {parts.scores, mask});
  m.Output(m.Op("MatMul", {MaskedSoftmax(m, masked), parts.v}));
}

/// The fused node of a model with one pattern.
Node FusedNode(const Model& model) {
  for (const Node& node : RecogniseFusedPatterns(model).graph.nodes) {
    if (node.domain == "foretell") return node;
  }
  return {};
}

TEST(AttentionMask, AdditiveMaskIsAnInput) {
  for (const auto& shape :
       {std::vector<std::int64_t>{5, 7}, {2, 1, 1, 7}, {3, 5, 7}}) {
    ModelBuilder m;
    const Parts parts = MakeParts(m);
    Finish(m, parts, m.Input(shape));
    EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Attention"));
    EXPECT_TRUE(ComputesTheSame(m.model()));
  }
}

TEST(AttentionMask, MaskMayStandInFrontOfTheScores) {
  ModelBuilder m;
  const Parts parts = MakeParts(m);
  const std::string masked =
      m.Op("Add", {m.RandomWeight({3, 5, 7}), parts.scores});
  m.Output(m.Op("MatMul", {MaskedSoftmax(m, masked), parts.v}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Attention"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionMask, MaskThatEnlargesTheScoresIsAddedStepByStep) {
  ModelBuilder m;
  const Parts parts = MakeParts(m);
  Finish(m, parts, m.Input({6, 2, 3, 5, 7}));
  EXPECT_THAT(Fused(m.model()), ElementsAre("Attention"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionMask, BooleanMaskIsTakenAsItIs) {
  ModelBuilder m;
  const Parts parts = MakeParts(m);
  const std::string mask = m.BoolInput({2, 1, 5, 7});
  const std::string zero = m.Number(0);
  const std::string additive = m.Op("Where", {mask, zero, m.Number(kHidden)});
  const std::string weights =
      MaskedSoftmax(m, m.Op("Add", {parts.scores, additive}));
  const std::string guarded =
      m.Op("Where", {m.Op("IsNaN", {weights}), zero, weights});
  m.Output(m.Op("MatMul", {guarded, parts.v}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Attention"));
  EXPECT_EQ(FusedNode(m.model()).inputs[3], mask);
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionMask, MaskWithTheBranchesSwappedStaysAdditive) {
  ModelBuilder m;
  const Parts parts = MakeParts(m);
  const std::string mask = m.BoolInput({2, 1, 1, 7});
  const std::string additive =
      m.Op("Where", {mask, m.Number(kHidden), m.Number(0)});
  Finish(m, parts, additive);
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("Where", "foretell.Attention"));
}

TEST(AttentionMask, FiniteMaskValueStaysAdditive) {
  ModelBuilder m;
  const Parts parts = MakeParts(m);
  const std::string additive =
      m.Op("Where", {m.BoolInput({5, 7}), m.Number(0), m.Number(-10000.0)});
  Finish(m, parts, additive);
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("Where", "foretell.Attention"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionMask, SharedBooleanMaskServesSeveralAttentions) {
  ModelBuilder m;
  const std::string mask = m.BoolInput({5, 7});
  const std::string additive =
      m.Op("Where", {mask, m.Number(0), m.Number(-1e30)});
  const std::string hidden =
      m.Op("Where", {mask, m.Number(0), m.Number(kHidden)});
  Finish(m, MakeParts(m), hidden);
  Finish(m, MakeParts(m), hidden);
  m.Output(additive);
  EXPECT_THAT(Rewritten(m.model()),
              ElementsAre("Where", "foretell.Attention", "foretell.Attention"));
}

std::string Length(ModelBuilder& m, const std::string& x) {
  return m.Op("Slice",
              {m.Op("Shape", {x}), m.Integers({-2}), m.Integers({-1})});
}

/// The mask that exporters write for is_causal.
std::string CausalMask(ModelBuilder& m, const std::string& rows,
                       const std::string& columns, std::int64_t upper = 0) {
  const std::string size =
      m.Op("Concat", {rows, columns}, {MakeInt("axis", 0)});
  const std::string one = m.Weight(at::tensor({1.0f}));
  const std::string triangle =
      m.Op("Trilu", {m.Op("Expand", {one, size})}, {MakeInt("upper", upper)});
  const std::string zero = m.Weight(at::tensor({0.0f}));
  const std::string hidden =
      m.Weight(at::tensor({-std::numeric_limits<float>::infinity()}));
  return m.Op("Where", {m.Op("Equal", {triangle, zero}), hidden, zero});
}

TEST(AttentionMask, CausalMaskBecomesAFlag) {
  ModelBuilder m;
  const Parts parts = MakeParts(m);
  Finish(m, parts, CausalMask(m, Length(m, parts.q), Length(m, parts.k)));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Attention"));
  EXPECT_EQ(IntOf(FusedNode(m.model()), "is_causal", 0), 1);
  EXPECT_EQ(FusedNode(m.model()).inputs[3], "");
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionMask, TriangleOfAnotherSizeStaysAMask) {
  ModelBuilder m;
  const Parts parts = MakeParts(m);
  Finish(m, parts, CausalMask(m, m.Integers({1}), Length(m, parts.k)));
  EXPECT_EQ(IntOf(FusedNode(m.model()), "is_causal", 1), 0);
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionMask, UpperTriangleStaysAMask) {
  ModelBuilder m;
  const Parts parts = MakeParts(m);
  Finish(m, parts,
         CausalMask(m, Length(m, parts.q), Length(m, parts.k), /*upper=*/1));
  EXPECT_EQ(IntOf(FusedNode(m.model()), "is_causal", 1), 0);
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionMask, GuardThatReplacesNanByOneIsNoAttention) {
  ModelBuilder m;
  const Parts parts = MakeParts(m);
  const std::string weights = MaskedSoftmax(m, parts.scores);
  const std::string guarded =
      m.Op("Where", {m.Op("IsNaN", {weights}), m.Number(1), weights});
  m.Output(m.Op("MatMul", {guarded, parts.v}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

}  // namespace
}  // namespace foretell::onnx
