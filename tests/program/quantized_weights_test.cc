// Networks with quantized weights, in bytes counted by hand: linear(16, 32),
// relu, linear(32, 8) on [4,16], with weights of 2048, 128, 1024 and 32 bytes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/trace.h"
#include "src/core/csv_rows.h"
#include "src/core/parse_number.h"
#include "tests/program/fake_program.h"
#include "tests/program/layers.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using program_test::Chain;
using program_test::FakeProgram;
using program_test::Layers;
using program_test::Simple;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kOtherWeights = 128 + 1024 + 32;
/// A [2,16] and B [32,2]; A [2,32] and B [8,2].
constexpr std::int64_t kFirstAdapter = 128 + 256;
constexpr std::int64_t kSecondAdapter = 256 + 64;
constexpr char kUnpack[] = "bitsandbytes::dequantize_4bit";

OperatorGraph TraceQuantized(const std::string& format, Mode mode,
                             const std::string& adapted = "",
                             TraceDevice device = TraceDevice::kMeta) {
  const BoundInput input{"x", {DType::kF32, {4, 16}}};
  const program_test::Network network = Simple([](Layers& l) {
    return Chain({l.Linear(16, 32),
                  [](const at::Tensor& x) { return at::relu(x); },
                  l.Linear(32, 8)});
  });
  TrainingLoop loop{.quantize = ParseQuantize("--quantize", format)};
  if (!adapted.empty()) loop.lora = {.rank = 2, .targets = adapted};
  return TraceProgram(FakeProgram("net", {input}, network), {input},
                      {.run = {.mode = mode}, .loop = loop, .device = device})
      .graph;
}

std::string MessageOf(const std::function<void()>& action) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

struct FormatBytes {
  std::string format;
  std::int64_t weight;  ///< Of [32,16].
};

class QuantizedFormats : public testing::TestWithParam<FormatBytes> {};

TEST_P(QuantizedFormats, HoldAllButTheLastLayer) {
  const OperatorGraph graph =
      TraceQuantized(GetParam().format, Mode::kInference);
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kParameter),
            kOtherWeights + GetParam().weight);
  EXPECT_EQ(graph.ParameterElements(), 512 + 32 + 256 + 8);
  EXPECT_EQ(graph.ForwardMacs(), 4 * 16 * 32 + 4 * 32 * 8);
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape,
            (std::vector<std::int64_t>{4, 8}));
}

// Codes, then scales, then the table of nf4's 16 codes (64 bytes), GPTQ's
// places of groups (64), and zero points [2, 4] of 32 bits (32).
INSTANTIATE_TEST_SUITE_P(
    All, QuantizedFormats,
    testing::Values(FormatBytes{"nf4", 256 + 8 * 4 + 64},
                    FormatBytes{"nf4,double", 256 + 8 + 4 + 4 + 64},
                    FormatBytes{"fp4", 256 + 8 * 4 + 64},
                    FormatBytes{"int8", 512 + 32 * 4},
                    FormatBytes{"gptq:4,group=8", 256 + 128 + 32 + 64},
                    FormatBytes{"gptq:8,group=8", 512 + 128 + 64 + 64},
                    FormatBytes{"awq:4,group=8", 256 + 128 + 32},
                    FormatBytes{"fp8", 512 + 4}),
    [](const auto& row) {
      std::string name = row.param.format;
      std::erase_if(name,
                    [](char c) { return c == ',' || c == ':' || c == '='; });
      return name;
    });

TEST(QuantizedWeights, UnpackForEachProductOfEitherPass) {
  const OperatorGraph graph =
      TraceQuantized("nf4,skip=none", Mode::kTraining, "linear");
  EXPECT_THAT(TargetsOf(graph, Phase::kForward),
              ElementsAre(kUnpack, "linear", "clone", "linear", "linear", "mul",
                          "add", "relu", kUnpack, "linear", "clone", "linear",
                          "linear", "mul", "add", "mean"));
  // The first layer's input needs no gradient.
  const std::vector<std::string> backward = TargetsOf(graph, Phase::kBackward);
  EXPECT_EQ(std::ranges::count(backward, kUnpack), 1);
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kGradient),
            2 * (kFirstAdapter + kSecondAdapter));
}

TEST(QuantizedWeights, FreeWhatTheyUnpack) {
  const OperatorGraph graph = TraceQuantized("nf4", Mode::kInference);
  const Node& unpack = graph.nodes().front();
  ASSERT_EQ(unpack.target, kUnpack);
  EXPECT_EQ(graph.value(unpack.outputs[0]).type.Bytes(), 2048);
  EXPECT_EQ(DeathOf(graph, unpack.outputs[0]), 1);
}

TEST(QuantizedWeights, UnpackScalesFirstWhereTheyAreQuantized) {
  EXPECT_THAT(TargetsOf(TraceQuantized("nf4,double", Mode::kInference)),
              ElementsAre("bitsandbytes::dequantize_blockwise", "add_", kUnpack,
                          "linear", "relu", "linear"));
}

TEST(QuantizedWeights, UnpackToTheTypeOfAutocast) {
  const BoundInput input{"x", {DType::kF32, {4, 16}}};
  const program_test::Network network = Simple([](Layers& l) {
    return Chain({l.Linear(16, 32), l.Linear(32, 8)});
  });
  const OperatorGraph graph =
      TraceProgram(FakeProgram("net", {input}, network), {input},
                   {.run = {.precision = Precision::kBf16, .autocast = true},
                    .loop = {.quantize = ParseQuantize("--quantize", "nf4")}})
          .graph;
  const auto unpack = std::ranges::find(graph.nodes(), kUnpack, &Node::target);
  ASSERT_NE(unpack, graph.nodes().end());
  EXPECT_EQ(graph.value(unpack->outputs[0]).type.dtype, DType::kBF16);
}

TEST(QuantizedWeights, UnpackToTheTypeThatTheyWereQuantizedFrom) {
  const BoundInput input{"x", {DType::kBF16, {4, 16}}};
  const program_test::Network network = Simple([](Layers& l) {
    return Chain({l.Linear(16, 32), l.Linear(32, 8)});
  });
  const OperatorGraph graph =
      TraceProgram(
          FakeProgram("net", {input}, network), {input},
          {.run = {.precision = Precision::kBf16},
           .loop = {.quantize = ParseQuantize("--quantize", "nf4,from=fp16")}})
          .graph;
  const auto unpack = std::ranges::find(graph.nodes(), kUnpack, &Node::target);
  ASSERT_NE(unpack, graph.nodes().end());
  EXPECT_EQ(graph.value(unpack->outputs[0]).type.dtype, DType::kF16);
  const Node& cast = *std::next(unpack);
  EXPECT_EQ(cast.target, "to");
  EXPECT_EQ(graph.value(cast.outputs[0]).type.dtype, DType::kBF16);
  EXPECT_EQ(DeathOf(graph, unpack->outputs[0]),
            std::distance(graph.nodes().begin(), std::next(unpack)));
}

TEST(QuantizedWeights, MultiplyPackedWordsOrIntegers) {
  EXPECT_THAT(TargetsOf(TraceQuantized("gptq:4", Mode::kInference)),
              ElementsAre("gptq::quant_matmul", "add_", "relu", "linear"));
  EXPECT_THAT(TargetsOf(TraceQuantized("int8", Mode::kInference)),
              Contains("bitsandbytes::int8_linear_matmul"));
}

// relu's result [4,32] of 512 bytes is saved for relu at any rate; the second
// layer's input is that tensor. The first layer's input is the batch. A layer
// behind a product alone shows the difference.
TEST(QuantizedWeights, KeepTheirInputInOldVersionsAlone) {
  const auto saved = [](const std::string& format) {
    const BoundInput input{"x", {DType::kF32, {4, 16}}};
    const program_test::Network network = Simple([](Layers& l) {
      return Chain({l.Linear(16, 32), l.Linear(32, 64), l.Linear(64, 8)});
    });
    const TrainingLoop loop{.lora = {.rank = 2, .targets = "linear0"},
                            .quantize = ParseQuantize("--quantize", format)};
    return PeakOfRole(
        TraceProgram(FakeProgram("net", {input}, network), {input},
                     {.run = {.mode = Mode::kTraining}, .loop = loop})
            .graph,
        TensorRole::kSaved);
  };
  EXPECT_EQ(saved("nf4,keep-input") - saved("nf4"), 4 * 32 * 4);
}

/// Bytes of the last step's saved tensors that are there when the next begins.
std::int64_t HeldFromStepToStep(const std::string& format,
                                bool loss_in_function) {
  const BoundInput input{"x", {DType::kF32, {4, 16}}};
  const program_test::Network network = Simple([](Layers& l) {
    return Chain({l.Linear(16, 32), l.Linear(32, 64), l.Linear(64, 8)});
  });
  const TrainingLoop loop{.loss_in_function = loss_in_function,
                          .lora = {.rank = 2, .targets = "linear0"},
                          .quantize = ParseQuantize("--quantize", format)};
  const OperatorGraph graph =
      TraceProgram(FakeProgram("net", {input}, network), {input},
                   {.run = {.mode = Mode::kTraining}, .loop = loop})
          .graph;
  std::int64_t held = 0;
  for (const MemoryEvent& event : graph.events()) {
    const Storage& storage = graph.storage(event.storage);
    if (event.node != kNone || storage.role != TensorRole::kSaved) continue;
    held += event.kind == MemoryEvent::Kind::kAllocate ? storage.bytes
                                                       : -storage.bytes;
  }
  return held;
}

TEST(QuantizedWeights, HoldTheirInputAsLongAsTheLoopHoldsItsLoss) {
  constexpr std::int64_t kLoss = 4;
  EXPECT_EQ(HeldFromStepToStep("nf4,keep-input", false),
            HeldFromStepToStep("nf4", false) + 4 * 32 * 4 + kLoss);
  EXPECT_EQ(HeldFromStepToStep("nf4,keep-input", true), 0);
}

/// Bytes of the tensors of a matrix [rows, columns], largest first.
std::string TensorsOf(const std::string& format, std::int64_t rows,
                      std::int64_t columns) {
  const BoundInput input{"x", {DType::kF32, {4, columns}}};
  const program_test::Network network = Simple([&](Layers& l) {
    return Chain({l.Linear(columns, rows), l.Linear(rows, 1)});
  });
  const OperatorGraph graph =
      TraceProgram(FakeProgram("net", {input}, network), {input},
                   {.loop = {.quantize = ParseQuantize("--quantize", format)}})
          .graph;
  std::vector<std::int64_t> bytes;
  for (const Value& value : graph.values()) {
    if (value.name.starts_with("linear0.weight.")) {
      bytes.push_back(graph.storage(value.storage).bytes);
    }
  }
  std::ranges::sort(bytes, std::greater());
  return fmt::format("{}", fmt::join(bytes, " "));
}

// What bitsandbytes' own layers hold (make_quantized_golden.py). A product with
// four bits saves nothing of its input; of int8 the code for CPUs is another.
TEST(QuantizedWeights, HoldWhatBitsandbytesHolds) {
  int rows = 0;
  ForEachCsvRow(
      FORETELL_SOURCE_DIR "/tests/golden/quantized/bitsandbytes.csv",
      [&rows](const CsvRow& row) {
        SCOPED_TRACE(row.At("format") + " " + row.At("columns"));
        ++rows;
        EXPECT_EQ(
            TensorsOf(row.At("format"),
                      ParseNumber<std::int64_t>(row.At("rows")).value(),
                      ParseNumber<std::int64_t>(row.At("columns")).value()),
            row.At("tensors"));
        if (row.At("format") != "int8") {
          EXPECT_EQ(row.At("saved"), "0");
        }
      });
  EXPECT_EQ(rows, 20);
}

TEST(QuantizedWeights, RefuseWhatCannotBe) {
  EXPECT_THAT(MessageOf([] { TraceQuantized("nf4", Mode::kTraining); }),
              HasSubstr("quantized weights have no gradients; --lora trains"));
  EXPECT_THAT(MessageOf([] {
                TraceQuantized("nf4", Mode::kInference, "", TraceDevice::kCpu);
              }),
              HasSubstr("a trace on the CPU computes with the weights"));
  EXPECT_THAT(
      MessageOf([] { TraceQuantized("nf4,skip=linear", Mode::kInference); }),
      HasSubstr("has no linear layer to quantize"));
}

}  // namespace
}  // namespace foretell
