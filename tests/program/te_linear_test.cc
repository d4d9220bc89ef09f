// What TransformerEngine's linear layers quantize and keep, in bytes counted by
// hand from its sources (2.18), which need a GPU.

#include "src/program/te_linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "tests/program/fake_program.h"
#include "tests/program/trace_queries.h"

namespace foretell::te_linear_test {
namespace {

using program_test::FakeProgram;
using program_test::Tensors;
using program_test::Weights;
using testing::ElementsAre;
using testing::HasSubstr;

struct Layers {
  std::string kernels = {};
  std::int64_t rows = 160;
  Precision precision = Precision::kBf16;
  bool bias = false;
  Mode mode = Mode::kTraining;
};

/// Two layers: of 64 inputs and 96 results, and of 96 and 128.
OperatorGraph TraceLayers(const Layers& layers) {
  const std::vector<BoundInput> inputs = {
      {"x", {DType::kF32, {layers.rows, 64}}}};
  const program_test::Network network = [&](Weights& weights) {
    const at::Tensor first = weights.Parameter("first", {96, 64});
    const at::Tensor last = weights.Parameter("last", {128, 96});
    const at::Tensor bias =
        layers.bias ? weights.Parameter("bias", {128}) : at::Tensor();
    return [=](Tensors x) -> Tensors {
      return {at::linear(at::linear(x[0], first), last, bias)};
    };
  };
  return TraceProgram(
             FakeProgram("net", inputs, network), inputs,
             {.run = {.mode = layers.mode, .precision = layers.precision},
              .loop = {.kernels = layers.kernels}})
      .graph;
}

/// Bytes of what each node of `target` makes, in order.
std::vector<std::int64_t> BytesOf(const OperatorGraph& graph,
                                  const std::string& target) {
  std::vector<std::int64_t> bytes;
  for (const Node& node : graph.nodes()) {
    if (node.target != target) continue;
    bytes.push_back(0);
    for (const ValueId id : node.outputs) {
      bytes.back() += graph.value(id).type.Bytes();
    }
  }
  return bytes;
}

constexpr std::int64_t kInput = 160 * 64;
constexpr std::int64_t kHidden = 160 * 96;
constexpr std::int64_t kResult = 160 * 128;
constexpr std::int64_t kFirst = 96 * 64;
constexpr std::int64_t kLast = 128 * 96;

TEST(TeLinear, CopiesOperandsTransposedForTheBackwardPass) {
  // Nothing needs the gradient of the first input, so its weight is quantized
  // by rows alone; a scale of four bytes each.
  EXPECT_THAT(BytesOf(TraceLayers({"te-fp8"}), "transformer_engine::quantize"),
              ElementsAre(2 * kInput + 4, kFirst + 4, 2 * kHidden + 4,
                          2 * kLast + 4, 2 * kResult + 4, 2 * kHidden + 4));
}

TEST(TeLinear, MultipliesThreeTimesPerLayerTheLastIncluded) {
  const OperatorGraph graph = TraceLayers({"te-fp8"});
  const std::vector<std::string> targets = TargetsOf(graph);
  EXPECT_EQ(std::ranges::count(targets, "transformer_engine::gemm"), 5);
  EXPECT_EQ(std::ranges::count(targets, "linear"), 0);
  std::int64_t macs = 0;
  for (const Node& node : graph.nodes()) macs += node.macs;
  EXPECT_EQ(macs, 160 * (2 * 96 * 64 + 3 * 128 * 96));
}

TEST(TeLinear, CountsMacsOfPackedOperands) {
  std::int64_t macs = 0;
  for (const Node& node : TraceLayers({"te-nvfp4"}).nodes()) macs += node.macs;
  EXPECT_EQ(macs, 160 * (2 * 96 * 64 + 3 * 128 * 96));
}

TEST(TeLinear, KeepsInputsByColumnsAndWeightsByRowsAndColumns) {
  // Values, and the scale of each tensor; without, the input of the last layer.
  const auto kept = [](const std::string& kernels) {
    return PeakOfRole(TraceLayers({kernels}), TensorRole::kSaved);
  };
  EXPECT_EQ(kept("te-fp8") - kept(""), (kInput + 4) + (kFirst + 4) +
                                           (kHidden + 4) + (2 * kLast + 4) -
                                           2 * kHidden);
}

TEST(TeLinear, ReadsTwiceForScalesOfItsOwnValues) {
  const std::vector<std::string> targets =
      TargetsOf(TraceLayers({"te-fp8-current"}));
  EXPECT_EQ(std::ranges::count(targets, "transformer_engine::compute_amax"), 6);
}

TEST(TeLinear, TilesScalesOfBlocks) {
  const OperatorGraph graph = TraceLayers({"te-mxfp8"});
  // [160,64] by rows [160,2] → [256,4], by columns [64,5] → [128,8].
  EXPECT_EQ(BytesOf(graph, "transformer_engine::quantize").front(),
            2 * kInput + 256 * 4 + 128 * 8);
}

TEST(TeLinear, PacksTwoValuesIntoAByte) {
  const OperatorGraph graph = TraceLayers({"te-nvfp4"});
  // [160,64] by rows [160,4] → [256,4], by columns [64,10] → [128,12].
  EXPECT_EQ(BytesOf(graph, "transformer_engine::quantize").front(),
            kInput + 256 * 4 + 128 * 12);
}

TEST(TeLinear, SumsGradientsOfABiasWhereTheKernelDoesNot) {
  const auto sums = [](const std::string& kernels) {
    const std::vector<std::string> targets =
        TargetsOf(TraceLayers({.kernels = kernels, .bias = true}));
    return std::ranges::count(targets, "sum");
  };
  EXPECT_EQ(sums("te-fp8-current"), sums("te-fp8") + 1);
  EXPECT_EQ(sums("te-nvfp4"), sums("te-mxfp8") + 1);
}

TEST(TeLinear, KeepsNothingInInference) {
  const std::vector<std::int64_t> bytes =
      BytesOf(TraceLayers({.kernels = "te-fp8", .mode = Mode::kInference}),
              "transformer_engine::quantize");
  EXPECT_THAT(bytes,
              ElementsAre(kInput + 4, kFirst + 4, kHidden + 4, kLast + 4));
}

TEST(TeLinear, RefusesRowsAndTypesThatItsKernelsRefuse) {
  const auto message = [](const Layers& layers) -> std::string {
    try {
      TraceLayers(layers);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({.kernels = "te-fp8", .rows = 12}),
              HasSubstr("12 tokens are no multiple of 8"));
  EXPECT_THAT(message({.kernels = "te-mxfp8", .rows = 48}),
              HasSubstr("48 tokens are no multiple of 32"));
  EXPECT_THAT(message({.kernels = "te-nvfp4", .precision = Precision::kFp32}),
              HasSubstr("the input is Float, expected BFloat16"));
  EXPECT_THROW(TraceLayers({"te-fp8,te-mxfp8"}), Error);
  EXPECT_THROW(TraceLayers({"te-fp8,float8"}), Error);
}

}  // namespace
}  // namespace foretell::te_linear_test
