#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "frontends/onnx/fusion/fuse.h"
#include "tests/frontends/onnx_fusion/model_builder.h"

namespace foretell::onnx {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kHidden = -std::numeric_limits<double>::infinity();
constexpr double kLowest = std::numeric_limits<float>::lowest();

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

/// A guard against rows without keys around the softmax of masked scores.
std::string GuardedSoftmax(ModelBuilder& m, const std::string& x) {
  const std::string weights = MaskedSoftmax(m, x);
  return m.Op("Where", {m.Op("IsNaN", {weights}), m.Number(0), weights});
}

TEST(AttentionMask, LowestNumberHidesBehindTheGuard) {
  ModelBuilder m;
  const Parts parts = MakeParts(m);
  const std::string mask = m.BoolInput({5, 7});
  const std::string additive =
      m.Op("Where", {mask, m.Number(0), m.Number(kLowest)});
  const std::string masked = m.Op("Add", {parts.scores, additive});
  m.Output(m.Op("MatMul", {GuardedSoftmax(m, masked), parts.v}));
  EXPECT_EQ(FusedNode(m.model()).inputs[3], mask);
}

TEST(AttentionMask, LowestNumberWithoutAGuardStaysAdditive) {
  // A row of lowest numbers alone gives means here, not NaN.
  ModelBuilder m;
  const Parts parts = MakeParts(m);
  const std::string additive =
      m.Op("Where", {m.BoolInput({5, 7}), m.Number(0), m.Number(kLowest)});
  Finish(m, parts, additive);
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("Where", "foretell.Attention"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
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

std::string SizesOf(ModelBuilder& m, const std::string& rows,
                    const std::string& columns) {
  return m.Op("Concat", {rows, columns}, {MakeInt("axis", 0)});
}

std::string Ones(ModelBuilder& m, const std::string& sizes) {
  return m.Op("Expand", {m.Weight(at::tensor({1.0f})), sizes});
}

/// The mask that exporters write for is_causal.
std::string CausalMask(ModelBuilder& m, const std::string& ones,
                       double hidden = kHidden, std::int64_t upper = 0) {
  const std::string triangle = m.Op("Trilu", {ones}, {MakeInt("upper", upper)});
  const std::string zero = m.Weight(at::tensor({0.0f}));
  const std::string hides = m.Weight(at::tensor({static_cast<float>(hidden)}));
  return m.Op("Where", {m.Op("Equal", {triangle, zero}), hides, zero});
}

/// The sizes of its triangle: every way in which exporters give them.
std::vector<std::string> WaysOfOnes(ModelBuilder& m, const Parts& parts) {
  return {Ones(m, SizesOf(m, Length(m, parts.q), Length(m, parts.k))),
          Ones(m, m.Integers({5, 7})),
          Ones(m, SizesOf(m, Length(m, parts.q), m.Integers({7}))),
          m.Weight(at::ones({5, 7}))};
}

TEST(AttentionMask, CausalMaskBecomesAFlag) {
  for (const double hidden : {kHidden, kLowest}) {
    for (size_t way = 0; way < 4; ++way) {
      ModelBuilder m;
      const Parts parts = MakeParts(m);
      Finish(m, parts, CausalMask(m, WaysOfOnes(m, parts)[way], hidden));
      EXPECT_EQ(Fused(m.model()), std::vector<std::string>{"Attention"});
      EXPECT_EQ(IntOf(FusedNode(m.model()), "is_causal", 0), 1) << way;
      EXPECT_EQ(FusedNode(m.model()).inputs[3], "");
      EXPECT_TRUE(ComputesTheSame(m.model())) << way;
      EXPECT_THAT(TracedOperators(m.model()),
                  Contains("scaled_dot_product_attention"));
      EXPECT_THAT(TracedOperators(m.model()), Not(Contains("tril"))) << way;
    }
  }
}

TEST(AttentionMask, TriangleOfAnotherSizeIsAMaskWhenItRuns) {
  for (const bool is_constant : {false, true}) {
    ModelBuilder m;
    const Parts parts = MakeParts(m);
    const std::string row =
        is_constant ? m.Weight(at::ones({1, 7}))
                    : Ones(m, SizesOf(m, m.Integers({1}), Length(m, parts.k)));
    Finish(m, parts, CausalMask(m, row));
    EXPECT_THAT(TracedOperators(m.model()), Contains("tril"));
    EXPECT_TRUE(ComputesTheSame(m.model()));
  }
}

TEST(AttentionMask, OtherTrianglesStayMasks) {
  for (const auto& [value, upper] :
       {std::pair(1.0F, std::int64_t{1}), std::pair(2.0F, std::int64_t{0})}) {
    ModelBuilder m;
    const Parts parts = MakeParts(m);
    const std::string filled = m.Weight(at::full({5, 7}, value));
    Finish(m, parts, CausalMask(m, filled, kHidden, upper));
    EXPECT_EQ(IntOf(FusedNode(m.model()), "is_causal", 1), 0);
    EXPECT_TRUE(ComputesTheSame(m.model()));
  }
}

/// What a mask folded into an initializer holds: `hidden` where the key lies
/// more than `shift` behind the query.
at::Tensor Folded(double hidden, std::int64_t shift = 0) {
  return at::full({5, 7}, hidden).triu(1 + shift);
}

TEST(AttentionMask, FoldedLowestTriangleBecomesAFlag) {
  ModelBuilder m;
  Finish(m, MakeParts(m), m.Weight(Folded(kLowest)));
  EXPECT_EQ(IntOf(FusedNode(m.model()), "is_causal", 0), 1);
  EXPECT_THAT(TracedOperators(m.model()), Not(Contains("tril")));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionMask, OtherFoldedMasksStayAdditive) {
  for (const at::Tensor& mask : {Folded(kHidden), Folded(kLowest, 1)}) {
    ModelBuilder m;
    Finish(m, MakeParts(m), m.Weight(mask));
    EXPECT_EQ(IntOf(FusedNode(m.model()), "is_causal", 1), 0);
    EXPECT_NE(FusedNode(m.model()).inputs[3], "");
    EXPECT_TRUE(ComputesTheSame(m.model()));
  }
}

/// An attention whose scores get `mask` in front of the guarded softmax.
void FinishGuarded(ModelBuilder& m, const std::string& mask) {
  const Parts parts = MakeParts(m);
  const std::string masked = m.Op("Add", {parts.scores, mask});
  m.Output(m.Op("MatMul", {GuardedSoftmax(m, masked), parts.v}));
}

/// Type of the only initializer of two dimensions.
std::int32_t TypeOfMatrix(const Model& model) {
  for (const TensorLiteral& literal : model.graph.initializers) {
    if (literal.dims.size() == 2) return literal.data_type;
  }
  return 0;
}

TEST(AttentionMask, FoldedMaskBehindTheGuardIsBoolean) {
  ModelBuilder m;
  FinishGuarded(m, m.Weight(Folded(kLowest, 1)));
  EXPECT_EQ(TypeOfMatrix(RecogniseFusedPatterns(m.model())), kOnnxBool);
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(AttentionMask, FoldedMaskThatIsAlsoAddedElsewhereStaysNumbers) {
  ModelBuilder m;
  const std::string mask = m.Weight(Folded(kLowest, 1));
  FinishGuarded(m, mask);
  m.Output(m.Op("Relu", {mask}));
  EXPECT_EQ(TypeOfMatrix(RecogniseFusedPatterns(m.model())), kOnnxFloat);
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

/// `model` with the content of its only matrix in another file, under `name`.
Model WithMatrixElsewhere(Model model, const std::string& name) {
  for (TensorLiteral& literal : model.graph.initializers) {
    if (literal.dims.size() != 2) continue;
    for (Node& node : model.graph.nodes) {
      std::ranges::replace(node.inputs, literal.name, name);
    }
    literal.name = name;
    literal.payload = TensorLiteral::Payload::kExternal;
    literal.bytes.clear();
  }
  return model;
}

TEST(AttentionMask, FoldedMaskInAnotherFileIsCausalByTheExportersName) {
  ModelBuilder m;
  Finish(m, MakeParts(m), m.Weight(Folded(kLowest)));
  const Node causal = FusedNode(WithMatrixElsewhere(m.model(), "val_105"));
  EXPECT_EQ(IntOf(causal, "is_causal", 0), 1);
  EXPECT_EQ(causal.FindAttribute("triangle_sizes")->ints,
            (std::vector<std::int64_t>{5, 7}));
  const Node biased = FusedNode(WithMatrixElsewhere(m.model(), "bias"));
  EXPECT_EQ(IntOf(biased, "is_causal", 1), 0);
  EXPECT_EQ(biased.inputs[3], "bias");
}

TEST(AttentionMask, FoldedMaskInAnotherFileIsBooleanBehindTheGuard) {
  ModelBuilder m;
  FinishGuarded(m, m.Weight(Folded(kLowest, 1)));
  const auto type = [&m](const std::string& name) {
    return TypeOfMatrix(
        RecogniseFusedPatterns(WithMatrixElsewhere(m.model(), name)));
  };
  EXPECT_EQ(type("val_221"), kOnnxBool);
  EXPECT_EQ(type("bias"), kOnnxFloat);
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
