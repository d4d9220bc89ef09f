#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/error.h"
#include "tests/frontends/onnx_ops/node_runner.h"

namespace foretell::onnx {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<at::Tensor>;

/// e / (1 + e): weight of a key with score 1 beside one with score 0.
constexpr float kSigmoidOfOne = 0.7310586f;

Tensors Perform(const std::string& op_type, std::vector<Attribute> attributes,
                const Tensors& inputs, size_t num_outputs = 1) {
  return RunNode({.op_type = op_type,
                  .opset = 1,
                  .attributes = std::move(attributes),
                  .domain = "com.microsoft",
                  .num_outputs = num_outputs},
                 inputs);
}

at::Tensor F32(at::ArrayRef<float> values, at::IntArrayRef shape) {
  return at::tensor(values).view(shape);
}

void ExpectClose(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  EXPECT_TRUE(at::allclose(actual, expected, 1e-4, 1e-5)) << actual;
}

TEST(MicrosoftGelu, ComesExactApproximateAndQuick) {
  const at::Tensor x = at::tensor({0.25f});
  const at::Tensor bias = at::tensor({0.75f});
  ExpectClose(Perform("Gelu", {}, {at::tensor({1.0f})})[0],
              at::tensor({0.841345f}));
  ExpectClose(Perform("BiasGelu", {}, {x, bias})[0], at::tensor({0.841345f}));
  ExpectClose(Perform("FastGelu", {}, {x, bias})[0], at::tensor({0.841192f}));
  // 1 · sigmoid(1.702)
  ExpectClose(Perform("QuickGelu", {}, {at::tensor({1.0f})})[0],
              at::tensor({0.845796f}));
}

TEST(MicrosoftBiasSplitGelu, GatesTheFirstHalfWithTheSecond) {
  ExpectClose(
      Perform("BiasSplitGelu", {},
              {F32({2.0f, 0.5f}, {1, 1, 2}), at::tensor({1.0f, 0.5f})})[0],
      at::full({1, 1, 1}, 3 * 0.841345));
}

TEST(MicrosoftSkipLayerNormalization, NormalizesTheSumAndGivesIt) {
  // Sum with bias: 1 and 3; mean 2, deviation 1.
  const Tensors y = Perform(
      "SkipLayerNormalization", {FloatAttribute("epsilon", 0)},
      {F32({0, 1}, {1, 1, 2}), F32({0, 1}, {1, 1, 2}), at::tensor({2.0f, 2.0f}),
       at::tensor({0.5f, 0.5f}), at::ones({2})},
      4);
  ExpectClose(y[0], F32({-1.5f, 2.5f}, {1, 1, 2}));
  ExpectClose(y[3], F32({1, 3}, {1, 1, 2}));
}

TEST(MicrosoftSkipSimplifiedLayerNormalization, DividesByTheRootMeanSquare) {
  // Sum 1 and 7; root of mean square 5. There is no mean to give.
  const Tensors y =
      RunNode({.op_type = "SkipSimplifiedLayerNormalization",
               .opset = 1,
               .attributes = {FloatAttribute("epsilon", 0)},
               .domain = "com.microsoft",
               .num_outputs = 4,
               .absent_outputs = {1}},
              {F32({1, 3}, {1, 1, 2}), F32({0, 4}, {1, 1, 2}), at::ones({2})});
  ExpectClose(y[0], F32({0.2f, 1.4f}, {1, 1, 2}));
  ExpectClose(y[2], F32({0.2f}, {1, 1, 1}));
  ExpectClose(y[3], F32({1, 7}, {1, 1, 2}));
}

TEST(MicrosoftEmbedLayerNormalization, AddsEmbeddingsAndCountsTheMask) {
  const at::Tensor ids = at::tensor({1, 0}, at::kInt).view({1, 2});
  const at::Tensor segments = at::tensor({0, 1}, at::kInt).view({1, 2});
  const Tensors y = Perform(
      "EmbedLayerNormalization", {FloatAttribute("epsilon", 0)},
      {ids, segments, F32({0, 10, 20, 30}, {2, 2}), F32({1, 1, 2, 2}, {2, 2}),
       F32({0, 0, 0, 4}, {2, 2}), at::ones({2}), at::zeros({2}),
       at::tensor({1, 0}, at::kInt).view({1, 2})},
      3);
  ExpectClose(y[2], F32({21, 31, 2, 16}, {1, 2, 2}));
  ExpectClose(y[0], F32({-1, 1, -1, 1}, {1, 2, 2}));
  EXPECT_TRUE(at::equal(y[1], at::tensor({1}, at::kInt)));
}

/// Tokens 0 and 1 of one head of size one, queries, keys and values alike.
Tensors AttendToTokens(std::vector<Attribute> attributes,
                       const at::Tensor& mask = {}) {
  attributes.push_back(IntAttribute("num_heads", 1));
  return Perform(
      "Attention", std::move(attributes),
      {F32({0, 1}, {1, 2, 1}), at::ones({1, 3}), at::zeros({3}), mask}, 2);
}

TEST(MicrosoftAttention, ProjectsAndAttends) {
  const Tensors y = AttendToTokens({});
  ExpectClose(y[0], F32({0.5f, kSigmoidOfOne}, {1, 2, 1}));
  ExpectClose(y[1], F32({0, 1, 0, 1}, {2, 1, 1, 2, 1}));
}

TEST(MicrosoftAttention, SeesNoLaterTokenWhenUnidirectional) {
  ExpectClose(AttendToTokens({IntAttribute("unidirectional", 1)})[0],
              F32({0, kSigmoidOfOne}, {1, 2, 1}));
}

TEST(MicrosoftAttention, HidesWhatTheMaskHides) {
  const at::Tensor second = at::tensor({0, 1}, at::kInt).view({1, 2});
  ExpectClose(AttendToTokens({}, second)[0], F32({1, 1}, {1, 2, 1}));
  const at::Tensor length = at::tensor({1}, at::kInt);
  ExpectClose(AttendToTokens({}, length)[0], F32({0, 0}, {1, 2, 1}));
  const at::Tensor end_and_start = at::tensor({2, 1}, at::kInt);
  ExpectClose(AttendToTokens({}, end_and_start)[0], F32({1, 1}, {1, 2, 1}));
}

TEST(MicrosoftMultiHeadAttention, UnpacksQueriesKeysAndValues) {
  // [batch, sequence, heads, 3, size]
  const at::Tensor packed = F32({0, 0, 0, 1, 1, 1}, {1, 2, 1, 3, 1});
  ExpectClose(Perform("MultiHeadAttention", {IntAttribute("num_heads", 1)},
                      {packed})[0],
              F32({0.5f, kSigmoidOfOne}, {1, 2, 1}));
}

TEST(MicrosoftMultiHeadAttention, AddsItsBiasToEachProjection) {
  const at::Tensor x = F32({0, 1}, {1, 2, 1});
  // Queries stay 0 and 1, values become 10 and 11.
  ExpectClose(Perform("MultiHeadAttention", {IntAttribute("num_heads", 1)},
                      {x, x, x, at::tensor({0.0f, 0.0f, 10.0f})})[0],
              F32({10.5f, 10 + kSigmoidOfOne}, {1, 2, 1}));
}

TEST(MicrosoftMultiHeadAttention, RefusesASharedCacheByName) {
  const at::Tensor x = F32({0, 1}, {1, 2, 1});
  try {
    Perform("MultiHeadAttention", {IntAttribute("num_heads", 1)},
            {x, x, x, {}, {}, {}, {}, {}, at::tensor({1}, at::kInt)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("past_sequence_length"));
  }
}

TEST(MicrosoftGroupQueryAttention, SharesKeysCausally) {
  const at::Tensor query = F32({0, 1, 1, 0}, {1, 2, 2});
  const at::Tensor keys = F32({0, 1}, {1, 2, 1});
  const Tensors y =
      Perform("GroupQueryAttention",
              {IntAttribute("num_heads", 2), IntAttribute("kv_num_heads", 1)},
              {query,
               keys,
               keys,
               {},
               {},
               at::tensor({1}, at::kInt),
               at::tensor({2}, at::kInt)},
              3);
  ExpectClose(y[0], F32({0, 0, kSigmoidOfOne, 0.5f}, {1, 2, 2}));
  ExpectClose(y[1], F32({0, 1}, {1, 1, 2, 1}));
}

TEST(MicrosoftGroupQueryAttention, RefusesACacheWrittenInPlace) {
  const at::Tensor x = F32({1}, {1, 1, 1});
  const at::Tensor past = at::zeros({1, 1, 8, 1});
  try {
    Perform("GroupQueryAttention",
            {IntAttribute("num_heads", 1), IntAttribute("kv_num_heads", 1)},
            {x, x, x, past, past, at::tensor({3}, at::kInt),
             at::tensor({4}, at::kInt)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("total_sequence_length is 4"));
  }
}

TEST(MicrosoftRotaryEmbedding, StartsAtTheGivenPosition) {
  // A quarter turn at position 1: (a, b) becomes (-b, a).
  ExpectClose(Perform("RotaryEmbedding", {},
                      {F32({3, 4}, {1, 1, 2}), at::tensor({1}, at::kLong),
                       F32({1, 0}, {2, 1}), F32({0, 1}, {2, 1})})[0],
              F32({-4, 3}, {1, 1, 2}));
}

TEST(MicrosoftFusedMatMul, TransposesAndScales) {
  // 0.5 · [1 2] · [3 4]ᵀ
  ExpectClose(
      Perform("FusedMatMul",
              {FloatAttribute("alpha", 0.5f), IntAttribute("transB", 1)},
              {F32({1, 2}, {1, 2}), F32({3, 4}, {1, 2})})[0],
      F32({5.5f}, {1, 1}));
}

TEST(MicrosoftFusedConv, AddsThenActivates) {
  Attribute slope;
  slope.name = "activation_params";
  slope.kind = Attribute::Kind::kFloats;
  slope.floats = {0.5f};
  const Tensors inputs = {F32({1, 2}, {1, 1, 2}), F32({-3}, {1, 1, 1}),
                          at::tensor({1.0f}), F32({4, 1}, {1, 1, 2})};
  // -3 · 1 + 1 + 4 and -3 · 2 + 1 + 1, of which the second is negative.
  ExpectClose(
      Perform("FusedConv", {StringAttribute("activation", "LeakyRelu"), slope},
              inputs)[0],
      F32({2, -2}, {1, 1, 2}));
}

TEST(MicrosoftFusedConv, RefusesAnUnknownActivationByName) {
  try {
    Perform("FusedConv", {StringAttribute("activation", "Sine")},
            {F32({1}, {1, 1, 1}), F32({1}, {1, 1, 1})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("Sine"));
  }
}

TEST(MicrosoftFusedGemm, ActivatesTheProduct) {
  ExpectClose(Perform("FusedGemm", {StringAttribute("activation", "Relu")},
                      {F32({1, -2}, {2, 1}), F32({3}, {1, 1})})[0],
              F32({3, 0}, {2, 1}));
}

TEST(MicrosoftGroupNorm, KeepsChannelsLast) {
  // Channels 1 and 3 of one pixel in one group: mean 2, deviation 1.
  const Tensors y =
      Perform("GroupNorm",
              {IntAttribute("groups", 1), IntAttribute("activation", 1),
               FloatAttribute("epsilon", 0)},
              {F32({1, 3}, {1, 1, 1, 2}), at::ones({2}), at::zeros({2})});
  // SiLU of -1 and 1.
  ExpectClose(y[0], F32({-0.268941f, 0.731059f}, {1, 1, 1, 2}));
}

TEST(MicrosoftSkipGroupNorm, NormalizesTheSumAndGivesIt) {
  // Sums 1 and 3: mean 2, deviation 1.
  const Tensors y =
      Perform("SkipGroupNorm",
              {IntAttribute("groups", 1), FloatAttribute("epsilon", 0)},
              {F32({0, 1}, {1, 1, 1, 2}), at::ones({2}), at::zeros({2}),
               F32({0, 1}, {1, 2}), at::ones({2})},
              2);
  ExpectClose(y[0], F32({-1, 1}, {1, 1, 1, 2}));
  ExpectClose(y[1], F32({1, 3}, {1, 1, 1, 2}));
}

TEST(MicrosoftNhwcConv, HasImagesAndWeightsWithTheirChannelsLast) {
  const at::Tensor x = at::arange(2 * 3 * 4 * 2, at::kFloat).view({2, 3, 4, 2});
  const at::Tensor w = at::arange(5 * 3 * 3 * 2, at::kFloat).view({5, 3, 3, 2});
  const at::Tensor expected =
      at::conv2d(x.permute({0, 3, 1, 2}), w.permute({0, 3, 1, 2}), {}, 1, 1);
  ExpectClose(
      Perform("NhwcConv", {IntsAttribute("pads", {1, 1, 1, 1})}, {x, w})[0],
      expected.permute({0, 2, 3, 1}));
}

TEST(MicrosoftPackedAttention, AttendsWithinSequences) {
  const at::Tensor x = F32({1, 0, 1, 2}, {2, 2, 1});
  const Tensors packed =
      Perform("RemovePadding", {}, {x, at::tensor({2, 2})}, 4);
  ExpectClose(packed[2].to(at::kFloat), at::tensor({0.0f, 2.0f, 4.0f}));
  const at::Tensor tokens = packed[0];
  const at::Tensor result = Perform(
      "PackedMultiHeadAttention", {IntAttribute("num_heads", 1)},
      {tokens, tokens, tokens, at::zeros({3}), packed[1], packed[2]})[0];
  ExpectClose(Perform("RestorePadding", {}, {result, packed[1]})[0],
              Perform("MultiHeadAttention", {IntAttribute("num_heads", 1)},
                      {x, x, x})[0]);
  const at::Tensor projected = Perform(
      "PackedAttention", {IntAttribute("num_heads", 1)},
      {tokens, at::ones({1, 3}), at::zeros({3}), packed[1], packed[2]})[0];
  ExpectClose(projected, result);
}

TEST(MicrosoftPackedAttention, AddsTheBiasOfPackedProjections) {
  const at::Tensor bias = at::tensor({0.0f, 0.0f, 10.0f});
  const at::Tensor places = at::arange(2, at::kInt).view({1, 2});
  const at::Tensor ends = at::tensor({0, 2}, at::kInt);
  const at::Tensor tokens = F32({0, 1}, {2, 1});
  const at::Tensor packed = F32({0, 0, 0, 1, 1, 1}, {2, 1, 3, 1});
  const std::vector<Attribute> heads = {IntAttribute("num_heads", 1)};
  ExpectClose(Perform("PackedMultiHeadAttention", heads,
                      {packed, {}, {}, bias, places, ends})[0],
              Perform("PackedMultiHeadAttention", heads,
                      {tokens, tokens, tokens, bias, places, ends})[0]);
}

TEST(MicrosoftPackedAttention, RefusesSizesThatAreNotThree) {
  try {
    Perform(
        "PackedAttention",
        {IntAttribute("num_heads", 1),
         IntsAttribute("qkv_hidden_sizes", {1, 2})},
        {at::ones({4, 1}), at::ones({1, 3}), at::zeros({3}),
         at::arange(4, at::kInt).view({2, 2}), at::arange(0, 5, 2, at::kInt)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(error.what(), HasSubstr("do not add up to the 3 columns"));
  }
}

}  // namespace
}  // namespace foretell::onnx
