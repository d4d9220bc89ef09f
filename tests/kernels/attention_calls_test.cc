#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "foretell/trace.h"
#include "tests/kernels/kernels_of.h"
#include "tests/program/fake_program.h"

// The kernels that attention runs by the version of PyTorch, from the calls
// that a trace lists.

namespace foretell::cost {
namespace {

using testing::Contains;
using testing::ElementsAre;

constexpr TorchVersion kBefore2 = {.major = 1, .minor = 13};
constexpr TorchVersion kFrom2 = {.major = 2, .minor = 4};
constexpr TorchVersion kFrom25 = {.major = 2, .minor = 5};

using Function = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

/// Kernels of `function` over inputs of these types.
std::vector<Kernel> KernelsOfCall(const std::vector<TensorType>& types,
                                  const Function& function,
                                  const TraceOptions& options = {}) {
  std::vector<BoundInput> inputs;
  for (std::size_t i = 0; i < types.size(); ++i) {
    inputs.push_back({std::string(1, static_cast<char>('a' + i)), types[i]});
  }
  const program_test::Network network = [&](program_test::Weights&) {
    return [&](const std::vector<at::Tensor>& x) {
      return std::vector<at::Tensor>{function(x)};
    };
  };
  const OperatorGraph graph =
      TraceProgram(program_test::FakeProgram("net", inputs, network), inputs,
                   options)
          .graph;
  return ExpandKernels(graph,
                       RunOf(graph.info(), {.torch = options.run.torch}));
}

at::Tensor Attend(const std::vector<at::Tensor>& x) {
  return at::scaled_dot_product_attention(
      x[0], x[1], x[2], x.size() > 3 ? std::optional(x[3]) : std::nullopt);
}

/// Two images of three heads, five queries and seven keys of eight numbers.
std::vector<TensorType> FourDims(DType dtype = DType::kF16) {
  return {{dtype, {2, 3, 5, 8}}, {dtype, {2, 3, 7, 8}}, {dtype, {2, 3, 7, 4}}};
}
/// The same without a dimension for heads, which no version fuses.
std::vector<TensorType> ThreeDims(DType dtype = DType::kF16) {
  return {{dtype, {6, 5, 8}}, {dtype, {6, 7, 8}}, {dtype, {6, 7, 4}}};
}

TEST(AttentionCalls, AreOneKernelWhereItIsFused) {
  const std::vector<TensorType> heads(3, {DType::kF16, {2, 3, 5, 8}});
  EXPECT_THAT(
      ClassesOf(KernelsOfCall(heads, &Attend, {.run = {.torch = kFrom2}})),
      ElementsAre("attention"));
  EXPECT_THAT(
      ClassesOf(KernelsOfCall(heads, &Attend, {.run = {.torch = kFrom25}})),
      ElementsAre("attention"));
}

// Its efficient kernel wants values of 16 bytes or a multiple.
TEST(AttentionCalls, OfShortValuesAreNotFused) {
  EXPECT_THAT(
      ClassesOf(KernelsOfCall(FourDims(), &Attend, {.run = {.torch = kFrom2}})),
      ElementsAre("multiply", "multiply", "matmul", "softmax", "matmul"));
}

// A Boolean mask becomes one of numbers, whose rows are padded to 16 bytes.
TEST(AttentionCalls, MakeNumbersOfABooleanMask) {
  std::vector<TensorType> operands(3, {DType::kF32, {2, 3, 5, 8}});
  operands.push_back({DType::kBool, {5, 5}});
  EXPECT_THAT(
      ClassesOf(KernelsOfCall(operands, &Attend)),
      ElementsAre("fill", "fill", "elementwise", "fill", "copy", "attention"));
}

/// Six heads of queries, of which three share keys and values.
std::vector<Kernel> GroupedHeads(DType dtype, bool has_mask = false) {
  std::vector<TensorType> types = {
      {dtype, {2, 6, 5, 8}}, {dtype, {2, 2, 7, 8}}, {dtype, {2, 2, 7, 8}}};
  if (has_mask) types.push_back({dtype, {5, 7}});
  return KernelsOfCall(types, [](const std::vector<at::Tensor>& x) {
    return at::scaled_dot_product_attention(
        x[0], x[1], x[2], x.size() > 3 ? std::optional(x[3]) : std::nullopt, 0,
        false, std::nullopt, /*enable_gqa=*/true);
  });
}

TEST(AttentionCalls, OfGroupedHeadsAreFusedInSixteenBitsAlone) {
  EXPECT_THAT(ClassesOf(GroupedHeads(DType::kF16)), ElementsAre("attention"));
  const std::vector<Kernel> kernels = GroupedHeads(DType::kF32);
  EXPECT_THAT(ClassesOf(kernels), Contains("matmul_fp32").Times(2));
  EXPECT_THAT(ClassesOf(kernels), Contains("softmax").Times(1));
  // Keys and values are repeated for every head.
  std::int64_t repeated = 0;
  for (const Kernel& kernel : kernels) {
    repeated += kernel.bytes_out == 4 * 2 * 6 * 7 * 8 &&
                kernel.kernel_class == KernelClass::kCopy;
  }
  EXPECT_EQ(repeated, 2);
  EXPECT_THAT(ClassesOf(GroupedHeads(DType::kF16, true)),
              Contains("matmul_fp32").Times(2));
}

TEST(AttentionCalls, AreWhatNetworksWroteBefore2) {
  const std::vector<Kernel> kernels =
      KernelsOfCall(FourDims(), &Attend, {.run = {.torch = kBefore2}});
  ASSERT_THAT(ClassesOf(kernels),
              ElementsAre("matmul", "multiply", "softmax", "matmul"));
  EXPECT_EQ(kernels[0].bytes_in, (240 + 336) * 2);
  EXPECT_EQ(kernels[0].bytes_out, 210 * 2);
  EXPECT_EQ(kernels[0].macs, 210 * 8);
  EXPECT_EQ(kernels[0].n, 7);
  EXPECT_EQ(kernels[0].k, 8);
  EXPECT_EQ(kernels[1].bytes_in, 210 * 2);
  EXPECT_EQ(kernels[1].inner_extent, 7);
  EXPECT_EQ(kernels[2].inner_extent, 7);
  EXPECT_EQ(kernels[3].bytes_in, (210 + 168) * 2);
  EXPECT_EQ(kernels[3].macs, 210 * 4);
  EXPECT_EQ(kernels[3].n, 4);
  EXPECT_EQ(kernels[3].k, 7);
}

// Scores are f32 between half products.
TEST(AttentionCalls, Before2CastTheScoresOfAutocast) {
  const std::vector<Kernel> kernels =
      KernelsOfCall(FourDims(DType::kF32), &Attend,
                    {.run = {.autocast = true, .torch = kBefore2}});
  std::vector<Kernel> own;
  for (const Kernel& kernel : kernels) {
    if (kernel.node == kernels.back().node) own.push_back(kernel);
  }
  ASSERT_THAT(ClassesOf(own), ElementsAre("matmul", "multiply", "softmax",
                                          "cast_down", "matmul"));
  EXPECT_EQ(own[2].bytes_in, 210 * 2);
  EXPECT_EQ(own[2].bytes_out, 210 * 4);
  EXPECT_EQ(own[3].bytes_in, 210 * 4);
  EXPECT_EQ(own[3].bytes_out, 210 * 2);
}

/// Heads are cut out of rows, so that no two dimensions fold into one.
TEST(AttentionCalls, CopyHeadsBetweenTokensForTheirProducts) {
  const auto heads = [](const std::vector<at::Tensor>& x) {
    const at::Tensor q = x[0].transpose(1, 2);
    return at::scaled_dot_product_attention(q, q, q);
  };
  const std::vector<TensorType> tokens = {{DType::kF16, {2, 5, 3, 8}}};
  EXPECT_THAT(
      ClassesOf(KernelsOfCall(tokens, heads, {.run = {.torch = kBefore2}})),
      Contains("copy").Times(3));
  EXPECT_THAT(
      ClassesOf(KernelsOfCall(tokens, heads, {.run = {.torch = kFrom2}})),
      ElementsAre("attention"));
}

TEST(AttentionCalls, AreNotFusedInOtherRanks) {
  EXPECT_THAT(
      ClassesOf(
          KernelsOfCall(ThreeDims(), &Attend, {.run = {.torch = kFrom2}})),
      ElementsAre("multiply", "multiply", "matmul", "softmax", "matmul"));
}

// 210 scores in 30 rows: a Boolean for each, one for each row, the weights with
// zeros where a row has no key, and the weights in the operands' type.
TEST(AttentionCalls, FallBackToFloatFrom25On) {
  const std::vector<Kernel> kernels =
      KernelsOfCall(ThreeDims(), &Attend, {.run = {.torch = kFrom25}});
  ASSERT_THAT(
      ClassesOf(kernels),
      ElementsAre("cast_up", "cast_up", "cast_up", "multiply", "multiply",
                  "matmul_fp32", "softmax", "elementwise", "reduce", "fill",
                  "elementwise", "cast_down", "matmul_fp32", "cast_down"));
}

TEST(AttentionCalls, InFloatNeedNoCastsToFallBack) {
  EXPECT_THAT(ClassesOf(KernelsOfCall(ThreeDims(DType::kF32), &Attend)),
              testing::Not(Contains("copy")));
}

TEST(AttentionCalls, AddAMaskToTheScores) {
  std::vector<TensorType> operands(3, {DType::kF16, {6, 5, 8}});
  operands.push_back({DType::kF16, {5, 5}});
  const std::vector<Kernel> kernels =
      KernelsOfCall(operands, &Attend, {.run = {.torch = kFrom2}});
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("multiply", "multiply", "matmul",
                                              "add", "softmax", "matmul"));
  EXPECT_EQ(kernels[3].bytes_in, (150 + 25) * 2);
  EXPECT_EQ(kernels[3].bytes_out, 150 * 2);
}

// Layers for inference of nn.MultiheadAttention: three images of five tokens,
// two heads of eight elements.

std::vector<TensorType> LayerOperands() {
  constexpr DType kType = DType::kF16;
  return {{kType, {3, 5, 16}}, {kType, {48, 16}}, {kType, {48}},
          {kType, {16, 16}},   {kType, {16}},     {DType::kBool, {3, 2, 5, 5}}};
}

std::vector<Kernel> LayerKernels(bool has_mask, bool need_weights,
                                 const TorchVersion& torch = {}) {
  return KernelsOfCall(
      LayerOperands(),
      [=](const std::vector<at::Tensor>& x) {
        const auto [output, weights] = at::_native_multi_head_attention(
            x[0], x[0], x[0], 16, 2, x[1], x[2], x[3], x[4],
            has_mask ? std::optional(x[5]) : std::nullopt, need_weights, true,
            2);
        return output;
      },
      {.run = {.torch = torch}});
}

TEST(AttentionCalls, OfALayerAreFusedFrom2On) {
  EXPECT_THAT(ClassesOf(LayerKernels(false, false)),
              ElementsAre("linear", "attention", "linear"));
  EXPECT_THAT(ClassesOf(LayerKernels(false, false, kBefore2)),
              ElementsAre("linear", "copy", "matmul", "softmax", "matmul",
                          "copy", "linear"));
}

TEST(AttentionCalls, OfALayerThatReturnsWeightsAreNotFused) {
  EXPECT_THAT(ClassesOf(LayerKernels(false, true)),
              ElementsAre("linear", "copy", "matmul", "softmax", "matmul",
                          "copy", "linear", "reduce", "multiply"));
}

TEST(AttentionCalls, OfALayerWithAMaskAreNotFused) {
  EXPECT_THAT(ClassesOf(LayerKernels(true, false)),
              ElementsAre("linear", "copy", "matmul", "softmax", "matmul",
                          "copy", "linear"));
}

}  // namespace
}  // namespace foretell::cost
