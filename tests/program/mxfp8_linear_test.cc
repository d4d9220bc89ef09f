// Casts and scales of linear layers in MXFP8, in bytes counted by hand from the
// kernels of torchao 0.18.0 (prototype/mx_formats/kernels.py), which need a
// GPU.

#include "src/program/mxfp8_linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/error.h"
#include "tests/program/fake_program.h"
#include "tests/program/trace_queries.h"

namespace foretell::mxfp8_test {
namespace {

using program_test::FakeProgram;
using program_test::Tensors;
using program_test::Weights;
using testing::ElementsAre;
using testing::HasSubstr;

/// A layer of 64 inputs and 96 results, and the last one, of `rows` rows.
OperatorGraph TrainMxfp8(const std::string& kernels, std::int64_t rows = 160,
                         Precision precision = Precision::kBf16) {
  const std::vector<BoundInput> inputs = {{"x", {DType::kF32, {rows, 64}}}};
  const program_test::Network network = [](Weights& weights) {
    const at::Tensor first = weights.Parameter("first", {96, 64});
    const at::Tensor last = weights.Parameter("last", {32, 96});
    return [first, last](Tensors x) -> Tensors {
      return {at::linear(at::linear(x[0], first), last)};
    };
  };
  return TraceProgram(FakeProgram("net", inputs, network), inputs,
                      {.run = {.mode = Mode::kTraining, .precision = precision},
                       .loop = {.kernels = kernels}})
      .graph;
}

std::vector<std::int64_t> BytesOf(const OperatorGraph& graph,
                                  const std::string& target, std::size_t i) {
  std::vector<std::int64_t> bytes;
  for (const Node& node : graph.nodes()) {
    if (node.target != target) continue;
    bytes.push_back(graph.value(node.outputs[i]).type.Bytes());
  }
  return bytes;
}

TEST(Mxfp8Linear, CastsOperandsOfEachProduct) {
  const OperatorGraph graph = TrainMxfp8("mxfp8");
  constexpr std::int64_t kInput = 160 * 64;
  constexpr std::int64_t kWeight = 96 * 64;
  constexpr std::int64_t kGradient = 160 * 96;
  // Input and weight; gradient and weight by columns; gradient and input by
  // columns: a byte per value, and one per block of 32.
  EXPECT_THAT(
      BytesOf(graph, "torchao::mxfp8_quantize", 0),
      ElementsAre(kInput, kWeight, kGradient, kWeight, kGradient, kInput));
  EXPECT_THAT(BytesOf(graph, "torchao::mxfp8_quantize", 1),
              ElementsAre(kInput / 32, kWeight / 32, kGradient / 32,
                          kWeight / 32, kGradient / 32, kInput / 32));
}

TEST(Mxfp8Linear, PadsScalesToTiles) {
  // [160,2] [96,2], [160,3] [64,3], [96,5] [64,5] in tiles of [128,4].
  EXPECT_THAT(
      BytesOf(TrainMxfp8("mxfp8"), "torchao::triton_mx_block_rearrange", 0),
      ElementsAre(256 * 4, 128 * 4, 256 * 4, 128 * 4, 128 * 8, 128 * 8));
}

TEST(Mxfp8Linear, KeepsItsOperandsAsTheyAre) {
  EXPECT_EQ(PeakOfRole(TrainMxfp8("mxfp8"), TensorRole::kSaved),
            PeakOfRole(TrainMxfp8(""), TensorRole::kSaved));
}

TEST(Mxfp8Linear, RefusesRowsThatAreNoBlocksAndOtherTypes) {
  const auto message = [](std::int64_t rows,
                          Precision precision) -> std::string {
    try {
      TrainMxfp8("mxfp8", rows, precision);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(48, Precision::kBf16),
              HasSubstr("48 tokens are no blocks of 32"));
  EXPECT_THAT(message(64, Precision::kFp32), HasSubstr("cast bf16"));
  EXPECT_THROW(TrainMxfp8("mxfp8,float8"), Error);
}

}  // namespace
}  // namespace foretell::mxfp8_test
