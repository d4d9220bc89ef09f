// What adapters cost as PEFT builds them, in bytes counted by hand. The network
// is that of training_loop_test.cc: linear(16, 32), relu, linear(32, 8) on
// [4,16], with weights of 2048, 128, 1024 and 32 bytes; adapters of rank 2 on
// the first layer are [2,16] and [32,2], 128 and 256 bytes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "foretell/trace.h"
#include "tests/program/fake_program.h"
#include "tests/program/layers.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using program_test::Chain;
using program_test::FakeProgram;
using program_test::Layers;
using program_test::Simple;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kWeights = 2048 + 128 + 1024 + 32;
constexpr std::int64_t kAdapters = 128 + 256;

OperatorGraph Adapt(const program_test::Network& network,
                    const BoundInput& input, const TrainingLoop& loop,
                    Precision precision = Precision::kFp32) {
  return TraceProgram(FakeProgram("net", {input}, network), {input},
                      {.run = {.mode = Mode::kTraining, .precision = precision},
                       .loop = loop})
      .graph;
}

OperatorGraph AdaptLinear(LoraSpec lora, const std::string& trainable = "",
                          Precision precision = Precision::kFp32) {
  lora.rank = lora.method == AdapterMethod::kIa3 ? 0 : 2;
  if (lora.targets.empty()) lora.targets = "linear0";
  return Adapt(Simple([](Layers& l) {
                 return Chain({l.Linear(16, 32),
                               [](const at::Tensor& x) { return at::relu(x); },
                               l.Linear(32, 8)});
               }),
               {"x", {DType::kF32, {4, 16}}},
               {.trainable = trainable, .lora = std::move(lora)}, precision);
}

const BoundInput kWords = {"ids", {DType::kI64, {4}}};

/// An embedding of 10 words of 16, and a layer.
program_test::Network WordsNetwork() {
  return Simple([](Layers& l) {
    return Chain({l.Embedding(10, 16), l.Linear(16, 32)});
  });
}

std::int64_t CountOf(const OperatorGraph& graph, Phase phase,
                     const std::string& target) {
  const std::vector<std::string> targets = TargetsOf(graph, phase);
  return std::count(targets.begin(), targets.end(), target);
}

/// Of all steps: gradients of the first and of the recorded one.
std::int64_t GradientsOf(const OperatorGraph& graph) {
  return BytesOfRole(graph, TensorRole::kGradient) / 2;
}

std::int64_t LivingParameters(const OperatorGraph& graph) {
  const std::vector<bool> alive =
      AliveAfter(graph, std::ssize(graph.nodes()) - 1);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < alive.size(); ++i) {
    const Storage& storage = graph.storages()[i];
    if (alive[i] && storage.role == TensorRole::kParameter) {
      bytes += storage.bytes;
    }
  }
  return bytes;
}

std::string AdapterError(const program_test::Network& network,
                         const BoundInput& input, const LoraSpec& lora) {
  try {
    Adapt(network, input, {.lora = lora});
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
}

// The mask of the second layer alone: the input of the first needs no gradient.
TEST(Adapters, WithDropoutSaveItsMaskAndItsResult) {
  const OperatorGraph plain = AdaptLinear({.targets = "linear"});
  const OperatorGraph dropped =
      AdaptLinear({.targets = "linear", .dropout = 0.5});
  EXPECT_THAT(TargetsOf(dropped, Phase::kForward),
              ElementsAre("linear", "dropout", "linear", "linear", "mul", "add",
                          "relu", "linear", "dropout", "linear", "linear",
                          "mul", "add", "mean"));
  EXPECT_EQ(
      PeakOfRole(dropped, TensorRole::kSaved),
      PeakOfRole(plain, TensorRole::kSaved) + 4 * 16 * 4 + 4 * 32 * (4 + 1));
}

TEST(Adapters, OfTheNetworksTypeNeedNoCast) {
  const OperatorGraph graph =
      AdaptLinear({.type = DType::kBF16}, "", Precision::kBf16);
  EXPECT_THAT(TargetsOf(graph, Phase::kForward),
              ElementsAre("linear", "linear", "linear", "mul", "add", "relu",
                          "linear", "mean"));
  EXPECT_EQ(GradientsOf(graph), kAdapters / 2);
}

TEST(Adapters, WithDropoutKeepTheCastInputUntilTheLayerReturns) {
  const OperatorGraph graph =
      AdaptLinear({.dropout = 0.5}, "", Precision::kBf16);
  const std::vector<std::string> targets = TargetsOf(graph);
  const auto cast = std::ranges::find(targets, "to") - targets.begin();
  const auto add = std::ranges::find(targets, "add") - targets.begin();
  const std::size_t storage = static_cast<std::size_t>(
      graph.value(graph.node(static_cast<NodeId>(cast)).outputs.front())
          .storage);
  EXPECT_TRUE(AliveAfter(graph, static_cast<NodeId>(add))[storage]);
  EXPECT_FALSE(AliveAfter(graph, static_cast<NodeId>(add) + 2)[storage]);
}

TEST(Adapters, MayTrainBiasesToo) {
  EXPECT_EQ(GradientsOf(AdaptLinear({.bias = TrainedBiases::kAdaptedBias})),
            kAdapters + 128);
  EXPECT_EQ(GradientsOf(AdaptLinear({.bias = TrainedBiases::kEveryBias})),
            kAdapters + 128 + 32);
}

TEST(Adapters, SaveModulesAsCopiesNextToTheOriginals) {
  const OperatorGraph graph = AdaptLinear({.save = "linear1.weight"});
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kParameter),
            kWeights + kAdapters + 1024);
  EXPECT_EQ(GradientsOf(graph), kAdapters + 1024);
}

TEST(Adapters, LeaveTrainableParametersAsTheyAre) {
  const OperatorGraph graph = AdaptLinear({}, "linear1");
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kParameter), kWeights + kAdapters);
  EXPECT_EQ(GradientsOf(graph), kAdapters + 1024 + 32);
}

// Saved in addition: the norms and the scale, [32] each, the layer's result
// without its bias and the adapters' result, [4,32] each.
TEST(Adapters, OfDoraHaveMagnitudesAndSaveBothResults) {
  const OperatorGraph graph = AdaptLinear({.dora = true});
  EXPECT_EQ(GradientsOf(graph), kAdapters + 128);
  EXPECT_EQ(PeakOfRole(graph, TensorRole::kSaved),
            PeakOfRole(AdaptLinear({}), TensorRole::kSaved) +
                2 * (32 * 4 + 4 * 32 * 4));
  EXPECT_EQ(CountOf(graph, Phase::kForward, "eye"), 1);
  EXPECT_EQ(CountOf(graph, Phase::kForward, "linear"), 2 + 2 + 2);
}

// Next to the layer's result: the unit matrix [16,16], its product with A, the
// product [16,32], and the norms. The sum [32,16] has just died.
TEST(Adapters, OfDoraHoldTheirProductInFullSize) {
  const OperatorGraph graph = AdaptLinear({.dora = true});
  const std::vector<std::string> targets = TargetsOf(graph);
  const auto norm = static_cast<NodeId>(
      std::ranges::find(targets, "linalg_vector_norm") - targets.begin());
  EXPECT_EQ(LiveBytesAfter(graph, norm) - LiveBytesAfter(graph, 0),
            4 * (16 * 16 + 16 * 2 + 16 * 32 + 32));
}

TEST(Adapters, OfDoraOnFourBitsReadAWeightThatWasMadeWhole) {
  const auto adapted = [](bool dora) {
    return Adapt(Simple([](Layers& l) {
                   return Chain({l.Linear(16, 32), l.Linear(32, 8)});
                 }),
                 {"x", {DType::kF32, {4, 16}}},
                 {.lora = {.rank = 2, .targets = "linear0", .dora = dora},
                  .quantize = ParseQuantize("--quantize", "nf4")},
                 Precision::kBf16);
  };
  const OperatorGraph graph = adapted(true);
  const OperatorGraph plain = adapted(false);
  EXPECT_EQ(CountOf(graph, Phase::kForward, "empty"),
            CountOf(plain, Phase::kForward, "empty") + 1);
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kBuffer),
            BytesOfRole(plain, TensorRole::kBuffer));
}

TEST(Adapters, OfDoraWithDropoutRunTheLayerAgain) {
  const OperatorGraph graph = AdaptLinear({.dropout = 0.5, .dora = true});
  EXPECT_EQ(CountOf(graph, Phase::kForward, "linear"), 3 + 2 + 2);
}

// Of the first layer one for each of 32 results, of the second one for each of
// 32 inputs.
TEST(Adapters, OfIa3AreAVectorForEachLayer) {
  LoraSpec spec = {.targets = "linear",
                   .method = AdapterMethod::kIa3,
                   .feedforward = "linear1"};
  const OperatorGraph graph = AdaptLinear(spec);
  EXPECT_EQ(GradientsOf(graph), 4 * (32 + 32));
  EXPECT_EQ(CountOf(graph, Phase::kForward, "linear"), 2);
}

// Next to the shared [2,32] and [32,2], 2 + 32 and 2 + 8 numbers are trained.
TEST(Adapters, OfVeraShareTheirMatrices) {
  const OperatorGraph graph =
      AdaptLinear({.targets = "linear", .method = AdapterMethod::kVera});
  EXPECT_EQ(GradientsOf(graph), 4 * (2 + 32 + 2 + 8));
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kParameter),
            kWeights + 4 * (2 * 32 + 32 * 2 + 2 + 32 + 2 + 8));
}

// Two blocks of 8 of the 16 inputs, 28 numbers above each diagonal, and their
// places.
TEST(Adapters, OfOftTurnBlocksOfTheInput) {
  const OperatorGraph graph = AdaptLinear({.method = AdapterMethod::kOft});
  EXPECT_EQ(GradientsOf(graph), 4 * 2 * 28);
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kParameter),
            kWeights + 4 * 2 * 28 + 2 * 8 * 28);
  EXPECT_EQ(CountOf(graph, Phase::kForward, "bmm"), 3);
}

TEST(Adapters, OfBoftHaveBlocksThatDivideTheInput) {
  EXPECT_THAT(
      AdapterError(
          WordsNetwork(), kWords,
          {.rank = 3, .targets = "linear", .method = AdapterMethod::kBoft}),
      HasSubstr("BOFT's blocks, 3, do not divide 16 inputs"));
}

// [32,2] and [2,16] twice; [4,4] and [8,2] · [2,4].
TEST(Adapters, OfLoHaAndLoKrMakeAWeight) {
  EXPECT_EQ(GradientsOf(AdaptLinear({.method = AdapterMethod::kLoHa})),
            4 * 2 * (32 * 2 + 2 * 16));
  const OperatorGraph graph = AdaptLinear({.method = AdapterMethod::kLoKr});
  EXPECT_EQ(GradientsOf(graph), 4 * (4 * 4 + 8 * 2 + 2 * 4));
  EXPECT_EQ(CountOf(graph, Phase::kForward, "kron"), 1);
}

// The words of [2,5] become 5 + 3; the embedding's rows have 16 numbers.
TEST(Adapters, OfPromptsLengthenTheSequence) {
  const OperatorGraph graph =
      Adapt(WordsNetwork(), {"ids", {DType::kI64, {2, 5}}},
            {.lora = {.method = AdapterMethod::kPrompt, .tokens = 3}});
  EXPECT_EQ(GradientsOf(graph), 4 * 3 * 16);
  EXPECT_EQ(graph.ForwardMacs(), 2 * 8 * 16 * 32);
}

// Layers 16 to 8, 8 to 8 and 8 to 16 with biases.
TEST(Adapters, OfPTuningMakeTheirTokens) {
  const OperatorGraph graph = Adapt(
      WordsNetwork(), {"ids", {DType::kI64, {2, 5}}},
      {.lora = {.method = AdapterMethod::kPTuning, .tokens = 3, .hidden = 8}});
  EXPECT_EQ(GradientsOf(graph),
            4 * (3 * 16 + 16 * 8 + 8 + 8 * 8 + 8 + 8 * 16 + 16));
}

// Keys and values of 2 heads of 8 for each of 3 tokens, before those of 5.
TEST(Adapters, OfPrefixesAreKeysAndValuesOfEveryAttention) {
  const program_test::Network network = Simple([](Layers& l) {
    const program_test::Layer words = l.Embedding(10, 16);
    return [words](const at::Tensor& ids) {
      const at::Tensor x = words(ids).view({2, 5, 2, 8}).transpose(1, 2);
      return at::scaled_dot_product_attention(x, x, x, {}, 0.0, true);
    };
  });
  const BoundInput ids = {"ids", {DType::kI64, {2, 5}}};
  const LoraSpec spec = {.method = AdapterMethod::kPrefix, .tokens = 3};
  const OperatorGraph graph = Adapt(network, ids, {.lora = spec});
  EXPECT_EQ(GradientsOf(graph), 4 * 3 * 2 * 16);
  EXPECT_EQ(graph.ForwardMacs(), 2 * 2 * 2 * 5 * 8 * 8);
  EXPECT_THAT(AdapterError(WordsNetwork(), ids, spec),
              HasSubstr("calls no scaled_dot_product_attention"));
  EXPECT_THAT(AdapterError(WordsNetwork(), kWords, spec),
              HasSubstr("no embedding of [batch, tokens]"));
}

TEST(Adapters, OfAnEmbeddingAreARowForEachWordAndAProduct) {
  const OperatorGraph graph = Adapt(
      WordsNetwork(), kWords, {.lora = {.rank = 2, .targets = "embedding"}});
  EXPECT_THAT(TargetsOf(graph, Phase::kForward),
              ElementsAre("embedding", "embedding", "matmul", "mul", "add",
                          "linear", "mean"));
  EXPECT_EQ(GradientsOf(graph), 4 * (10 * 2 + 2 * 16));
}

TEST(Adapters, OfATiedWeightAreOnTheLayerThatReadsItFirst) {
  const program_test::Network network = Simple([](Layers& l) {
    const at::Tensor weight = l.weights().Parameter("tied", {10, 16});
    return [weight](const at::Tensor& ids) {
      return at::linear(at::embedding(weight, ids), weight);
    };
  });
  const OperatorGraph graph =
      Adapt(network, kWords, {.lora = {.rank = 2, .targets = "tied"}});
  EXPECT_EQ(CountOf(graph, Phase::kForward, "embedding"), 2);
  EXPECT_EQ(CountOf(graph, Phase::kForward, "linear"), 1);
}

// A is [2,3,3,3], B is [8,2,1,1].
TEST(Adapters, OfAConvolutionAreTheSameToFewChannelsAndAPointwiseOne) {
  const BoundInput image = {"x", {DType::kF32, {1, 3, 8, 8}}};
  const OperatorGraph graph =
      Adapt(Simple([](Layers& l) {
              return l.Conv(3, 8, {3, 3},
                            {.stride = {1, 1},
                             .padding = {0, 0},
                             .dilation = {1, 1},
                             .bias = true});
            }),
            image, {.lora = {.rank = 2, .targets = "conv"}});
  EXPECT_THAT(TargetsOf(graph, Phase::kForward),
              ElementsAre("conv2d", "conv2d", "conv2d", "mul", "add", "mean"));
  EXPECT_EQ(GradientsOf(graph), 4 * (2 * 27 + 8 * 2));
  EXPECT_EQ(graph.ForwardMacs(), 36 * (8 * 27 + 2 * 27 + 8 * 2));
}

TEST(Adapters, OfKBitTrainingCastParametersAndReachTheEmbedding) {
  const auto adapted = [](bool kbit) {
    return Adapt(WordsNetwork(), kWords,
                 {.lora = {.rank = 2, .targets = "linear", .kbit = kbit}},
                 Precision::kBf16);
  };
  const OperatorGraph graph = adapted(true);
  const OperatorGraph plain = adapted(false);
  constexpr std::int64_t kElements = 10 * 16 + 32 * 16 + 32;
  EXPECT_EQ(LivingParameters(graph), 4 * kElements + kAdapters);
  EXPECT_EQ(LivingParameters(plain), 2 * kElements + kAdapters);
  EXPECT_GT(CountOf(graph, Phase::kBackward, "mm"),
            CountOf(plain, Phase::kBackward, "mm"));
}

TEST(Adapters, AreRefusedWherePeftHasNone) {
  const BoundInput image = {"x", {DType::kF32, {1, 4, 8, 8}}};
  const program_test::Network grouped = Simple([](Layers& l) {
    return l.Conv(
        4, 4, {3, 3},
        {.stride = {1, 1}, .padding = {0, 0}, .dilation = {1, 1}, .groups = 4});
  });
  EXPECT_THAT(AdapterError(grouped, image, {.rank = 2, .targets = "conv"}),
              HasSubstr("'conv0.weight' gets no adapter: LoRA of a convolution "
                        "in groups"));
  EXPECT_THAT(
      AdapterError(WordsNetwork(), kWords,
                   {.rank = 2, .targets = "embedding", .dora = true}),
      HasSubstr("DoRA and methods other than LoRA are modelled for nn.Linear"));
  EXPECT_THAT(AdapterError(WordsNetwork(), kWords,
                           {.rank = 2, .targets = "linear", .save = "head"}),
              HasSubstr("LoRA has nothing to save"));
}

}  // namespace
}  // namespace foretell
