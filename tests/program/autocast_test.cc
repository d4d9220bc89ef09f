// Casts of autocast and how long they live, in bytes counted by hand.

#include "src/program/autocast.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "foretell/trace.h"
#include "src/program/meta/in_autocast.h"
#include "tests/graph/expect_error.h"
#include "tests/program/fake_program.h"
#include "tests/program/layers.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using program_test::Chain;
using program_test::FakeProgram;
using program_test::Layers;
using program_test::Simple;
using program_test::Stateless;
using testing::ElementsAre;
using testing::HasSubstr;

/// [4,16], 256 bytes.
const BoundInput kFourRows{"x", {DType::kF32, {4, 16}}};

OperatorGraph TraceOf(const program_test::Network& network,
                      const TraceOptions& options = {.run = {.autocast = true}},
                      const BoundInput& input = kFourRows) {
  return TraceProgram(FakeProgram("net", {input}, network), {input}, options)
      .graph;
}

/// linear(16, 8), relu, linear(8, 2): weights of 512, 32, 64 and 8 bytes, with
/// the input 872.
program_test::Network TwoLinears() {
  return Simple([](Layers& l) {
    return Chain({l.Linear(16, 8),
                  [](const at::Tensor& x) { return at::relu(x); },
                  l.Linear(8, 2)});
  });
}

constexpr std::int64_t kSources = 256 + 512 + 32 + 64 + 8;

std::vector<std::int64_t> LiveBytes(const OperatorGraph& graph) {
  std::vector<std::int64_t> bytes;
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    bytes.push_back(LiveBytesAfter(graph, id));
  }
  return bytes;
}

std::int64_t CountCasts(const OperatorGraph& graph) {
  return std::ranges::count_if(graph.nodes(), [](const Node& node) {
    return node.Int(kAutocastAttribute, 0) != 0;
  });
}

TEST(Autocast, KeepsCastsOfParametersUntilTheForwardPassEnds) {
  const OperatorGraph graph = TraceOf(TwoLinears());
  EXPECT_THAT(TargetsOf(graph), ElementsAre("to", "to", "to", "linear", "relu",
                                            "to", "to", "linear"));
  // f16: the input takes 128 bytes, the weights 256, 16, 32 and 4, the results
  // 64, 64 and 16.
  EXPECT_THAT(
      LiveBytes(graph),
      ElementsAre(kSources + 128, kSources + 128 + 256,
                  kSources + 128 + 256 + 16, kSources + 256 + 16 + 64,
                  kSources + 256 + 16 + 64, kSources + 256 + 16 + 64 + 32,
                  kSources + 256 + 16 + 64 + 32 + 4, kSources + 16));
}

TEST(Autocast, InTrainingKeepsWhatTheBackwardPassNeeds) {
  const OperatorGraph graph = TraceOf(
      TwoLinears(), {.run = {.mode = Mode::kTraining, .autocast = true}});
  const std::vector<std::string> forward = TargetsOf(graph, Phase::kForward);
  ASSERT_THAT(forward, ElementsAre("to", "to", "to", "linear", "relu", "to",
                                   "to", "linear", "mean"));
  // The casts of the input and of the second weight, for the gradients of the
  // first weight and of the relu's result; that; the result and the loss. The
  // cast of the first weight is not needed: the input has no gradient.
  EXPECT_EQ(LiveBytesAfter(graph, 8), kSources + 128 + 32 + 64 + 16 + 2);
  // Gradients come in f16 and are cast to the parameters' f32.
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kGradient), 2 * (512 + 32 + 64 + 8));
  EXPECT_EQ(CountCasts(graph), 5);
}

TEST(Autocast, IsOverBeforeTheBackwardPass) {
  const OperatorGraph graph = TraceOf(
      TwoLinears(), {.run = {.mode = Mode::kTraining, .autocast = true}});
  for (const Node& node : graph.nodes()) {
    if (node.phase == Phase::kForward) continue;
    EXPECT_EQ(node.FindAttribute(kAutocastAttribute), nullptr) << node.target;
  }
}

TEST(Autocast, ReachesIntoComposites) {
  const BoundInput image{"x", {DType::kF16, {1, 2, 4, 4}}};
  const OperatorGraph graph =
      TraceOf(Stateless([](const at::Tensor& x) {
                return at::upsample_nearest2d(
                    x, at::OptionalIntArrayRef({8, 8}), std::nullopt);
              }),
              {.run = {.autocast = true}}, image);
  ASSERT_EQ(graph.nodes().size(), 1u);
  // The f32 copy of the input lives and dies inside.
  EXPECT_EQ(graph.storages().size(), 3u);
  EXPECT_EQ(LiveBytesAfter(graph, 0), 2 * 32 + 4 * 128);
}

TEST(Autocast, CastsConvolutionsWithPaddingByAWord) {
  const OperatorGraph graph =
      TraceOf(Stateless([](const at::Tensor& x) {
                const at::Tensor weight = at::ones({4, 4, 3}, x.options());
                const at::Tensor once = at::conv1d(x, weight, {}, 1, "same");
                return at::conv1d(once, weight, {}, 1, "same");
              }),
              {.run = {.autocast = true}}, {"x", {DType::kF32, {2, 4, 16}}});
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.dtype, DType::kF16);
}

TEST(Autocast, ConvertsHalfInsideSoftmax) {
  const BoundInput scores{"x", {DType::kF16, {4, 8}}};
  const auto network =
      Stateless([](const at::Tensor& x) { return at::softmax(x, -1); });
  EXPECT_EQ(
      TraceOf(network, {.run = {.autocast = true}}, scores).storages().size(),
      2u);
}

TEST(Autocast, CastsARecurrentLayerForEveryCall) {
  const BoundInput tokens{"x", {DType::kF32, {5, 2, 8}}};
  const OperatorGraph graph = TraceOf(
      [](program_test::Weights& weights) -> program_test::Forward {
        const at::Tensor input = weights.Parameter("input", {16, 8});
        const at::Tensor hidden = weights.Parameter("hidden", {16, 4});
        return [=](const program_test::Tensors& t) -> program_test::Tensors {
          const at::Tensor state = at::zeros({1, 2, 4}, t[0].options());
          const auto run = [&] {
            return std::get<0>(at::lstm(t[0], {state, state}, {input, hidden},
                                        false, 1, 0.0, false, false, false));
          };
          return {run(), run()};
        };
      },
      {.run = {.autocast = true}}, tokens);
  // The input, the state twice, and two weights, for both calls.
  EXPECT_EQ(CountCasts(graph), 10);
}

TEST(Autocast, StandsInTheTextOfTheGraph) {
  const OperatorGraph graph = TraceOf(
      TwoLinears(), {.run = {.precision = Precision::kBf16, .autocast = true}});
  const std::string text = PrintGraph(graph, {.with_timeline = true});
  EXPECT_THAT(text, HasSubstr("precision=fp32 autocast=bf16 batch=4"));
  EXPECT_THAT(text, HasSubstr("autocast=true} : bf16[4,16]"));
  EXPECT_EQ(PrintGraph(ParseGraph(text, "text"), {.with_timeline = true}),
            text);
}

TEST(Autocast, KeepsNormsInHalfWhereTheRunDoes) {
  const program_test::Network norms = Stateless([](const at::Tensor& x) {
    return at::group_norm(at::layer_norm(x, {x.size(1)}), 2);
  });
  const auto type_of = [&](std::string_view target, TraceOptions options) {
    options.run.autocast = true;
    const OperatorGraph graph = TraceOf(norms, options);
    const auto node = std::ranges::find(graph.nodes(), target, &Node::target);
    return graph.value(node->outputs.front()).type.dtype;
  };
  EXPECT_EQ(type_of("layer_norm", {}), DType::kF32);
  EXPECT_EQ(type_of("group_norm", {}), DType::kF32);
  EXPECT_EQ(type_of("layer_norm", {.run = {.half_layer_norm = true}}),
            DType::kF16);
  EXPECT_EQ(type_of("group_norm", {.run = {.half_layer_norm = true}}),
            DType::kF32);
  EXPECT_EQ(type_of("group_norm", {.run = {.half_group_norm = true}}),
            DType::kF16);
}

TEST(Autocast, UpsamplesInFloatFrom24On) {
  const BoundInput image{"x", {DType::kF32, {1, 2, 4, 4}}};
  const program_test::Network network = Simple([](Layers& l) {
    return Chain({l.Conv(2, 2, {1, 1}), [](const at::Tensor& x) {
                    return at::upsample_nearest2d(x, {8, 8});
                  }});
  });
  const auto type_on = [&](const TorchVersion& torch) {
    const OperatorGraph graph =
        TraceOf(network, {.run = {.autocast = true, .torch = torch}}, image);
    return graph.value(graph.nodes().back().outputs.front()).type.dtype;
  };
  EXPECT_EQ(type_on({.major = 2, .minor = 3}), DType::kF16);
  EXPECT_EQ(type_on({.major = 2, .minor = 4}), DType::kF32);
}

TEST(Autocast, LeavesAPlainTraceAlone) {
  const OperatorGraph graph = TraceOf(TwoLinears(), {});
  EXPECT_THAT(TargetsOf(graph), ElementsAre("linear", "relu", "linear"));
  EXPECT_FALSE(graph.info().autocast);
}

TEST(Autocast, NamesWhatItDoesNotGoWith) {
  ExpectError(
      [] {
        TraceOf(Stateless([](const at::Tensor& x) {
          return at::binary_cross_entropy(x, x);
        }));
      },
      ErrorCode::kUnsupported, "binary_cross_entropy is refused by autocast");
}

at::ScalarType TypeOfProduct() {
  const at::Tensor x = at::ones({2, 2}, at::kMeta);
  return at::mm(x, x).scalar_type();
}

TEST(Autocast, TheInnermostRegionCounts) {
  const AutocastRegion region(c10::DeviceType::Meta, {at::kHalf});
  {
    const AutocastRegion inner(c10::DeviceType::Meta, {at::kBFloat16});
    EXPECT_EQ(TypeOfProduct(), at::kBFloat16);
  }
  EXPECT_EQ(TypeOfProduct(), at::kHalf);
}

TEST(Autocast, PausesAndGoesOn) {
  {
    const AutocastRegion region(c10::DeviceType::Meta, {at::kHalf});
    {
      const AutocastPause pause;
      EXPECT_EQ(TypeOfProduct(), at::kFloat);
      EXPECT_FALSE(in_autocast);
      const AutocastRegion inner(c10::DeviceType::Meta, {at::kBFloat16});
      EXPECT_EQ(TypeOfProduct(), at::kBFloat16);
    }
    EXPECT_EQ(TypeOfProduct(), at::kHalf);
  }
  EXPECT_FALSE(in_autocast);
  EXPECT_EQ(TypeOfProduct(), at::kFloat);
}

}  // namespace
}  // namespace foretell
