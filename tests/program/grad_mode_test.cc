// Inference that autograd records, in bytes counted by hand.
//
// The network is linear(16, 32), relu, linear(32, 8) on [4,16]: 544 + 264 = 808
// weights, 3232 bytes; x and the result of relu are saved, 256 and 512 bytes.

#include "src/program/grad_mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/graph_io.h"
#include "foretell/trace.h"
#include "tests/graph/expect_error.h"
#include "tests/program/fake_program.h"
#include "tests/program/layers.h"
#include "tests/program/networks.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using program_test::Chain;
using program_test::FakeProgram;
using program_test::Layers;
using program_test::Simple;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kBytesOfSources = (4 * 16 + 808) * 4;
constexpr std::int64_t kHiddenBytes = 4 * 32 * 4;
constexpr std::int64_t kResultBytes = 4 * 8 * 4;
const BoundInput kVectors{"x", {DType::kF32, {4, 16}}};

program_test::Network WithRelu() {
  return Simple([](Layers& l) {
    return Chain({l.Linear(16, 32),
                  [](const at::Tensor& x) { return at::relu(x); },
                  l.Linear(32, 8)});
  });
}

Trace TraceIt(const program_test::Network& network,
              const TraceOptions& options) {
  return TraceProgram(FakeProgram("net", {kVectors}, network), {kVectors},
                      options);
}

TEST(GradMode, KeepsWhatABackwardPassWouldNeed) {
  const OperatorGraph recorded =
      TraceIt(WithRelu(), {.run = {.grad_mode = true}}).graph;
  EXPECT_TRUE(recorded.info().grad_mode);
  EXPECT_THAT(TargetsOf(recorded), ElementsAre("linear", "relu", "linear"));
  // relu saves its result; the one of linear dies with its last use.
  EXPECT_EQ(LiveBytesAfter(recorded, 1), kBytesOfSources + kHiddenBytes);
  EXPECT_EQ(LiveBytesAfter(recorded, 2),
            kBytesOfSources + kHiddenBytes + kResultBytes);
  EXPECT_EQ(BytesOfRole(recorded, TensorRole::kSaved),
            kHiddenBytes + kResultBytes);
  const OperatorGraph plain = TraceIt(WithRelu(), {}).graph;
  EXPECT_FALSE(plain.info().grad_mode);
  EXPECT_EQ(LiveBytesAfter(plain, 2), kBytesOfSources + kResultBytes);
}

TEST(GradMode, TheLastResultKeepsItsTensorsUntilTheNextExists) {
  const OperatorGraph recorded =
      TraceIt(WithRelu(),
              {.run = {.grad_mode = true}, .loop = {.keep_result = true}})
          .graph;
  EXPECT_THAT(TargetsOf(recorded), ElementsAre("linear", "relu", "linear"));
  EXPECT_EQ(LiveBytesAfter(recorded, 1),
            kBytesOfSources + 2 * kHiddenBytes + kResultBytes);
  EXPECT_EQ(LiveBytesAfter(recorded, 2),
            kBytesOfSources + kHiddenBytes + kResultBytes);
  const OperatorGraph plain =
      TraceIt(WithRelu(), {.loop = {.keep_result = true}}).graph;
  EXPECT_EQ(LiveBytesAfter(plain, 1),
            kBytesOfSources + kHiddenBytes + kResultBytes);
  EXPECT_EQ(LiveBytesAfter(plain, 2), kBytesOfSources + kResultBytes);
}

TEST(GradMode, DoesNotDependOnTheCallersMode) {
  const at::AutoGradMode off(false);
  const OperatorGraph graph =
      TraceIt(WithRelu(), {.run = {.grad_mode = true}}).graph;
  EXPECT_EQ(LiveBytesAfter(graph, 2),
            kBytesOfSources + kHiddenBytes + kResultBytes);
}

TEST(GradMode, KeepsTheCastsThatAreSavedUnderAutocast) {
  const TraceOptions options{.run = {.autocast = true, .grad_mode = true}};
  const OperatorGraph graph = TraceIt(WithRelu(), options).graph;
  const auto last = static_cast<NodeId>(graph.nodes().size()) - 1;
  // In two bytes each: x, the first result, both weights of the second layer's
  // product … the bias casts die with the region, unseen.
  EXPECT_GT(LiveBytesAfter(graph, last),
            kBytesOfSources + (kHiddenBytes + kResultBytes) / 2 + 4 * 16 * 2);
}

TEST(GradMode, RunsTheSameOperators) {
  for (const program_test::NamedNetwork& network :
       program_test::AllNetworks()) {
    const Program program = network.ToProgram();
    const OperatorGraph plain = TraceProgram(program, network.inputs).graph;
    const OperatorGraph recorded =
        TraceProgram(program, network.inputs, {.run = {.grad_mode = true}})
            .graph;
    EXPECT_EQ(TargetsOf(recorded), TargetsOf(plain)) << network.name;
    const auto last = static_cast<NodeId>(plain.nodes().size()) - 1;
    EXPECT_GE(LiveBytesAfter(recorded, last), LiveBytesAfter(plain, last))
        << network.name;
  }
}

TEST(GradMode, StandsInTheTextOfTheGraph) {
  const OperatorGraph graph =
      TraceIt(WithRelu(), {.run = {.grad_mode = true}}).graph;
  const std::string text = PrintGraph(graph, {.with_timeline = true});
  EXPECT_THAT(text, HasSubstr("precision=fp32 grad=on batch=4"));
  EXPECT_EQ(PrintGraph(ParseGraph(text, "text"), {.with_timeline = true}),
            text);
  EXPECT_THAT(GraphToJson(graph), HasSubstr("\"grad_mode\""));
}

TEST(GradMode, IsRefusedInTraining) {
  ExpectError(
      [] {
        TraceIt(WithRelu(),
                {.run = {.mode = Mode::kTraining, .grad_mode = true}});
      },
      ErrorCode::kInvalidArgument, "training always records");
}

TEST(GradMode, WarnsOfANetworkWithoutParameters) {
  const auto frozen =
      program_test::Stateless([](const at::Tensor& x) { return at::relu(x); });
  EXPECT_THAT(
      TraceIt(frozen, {.run = {.grad_mode = true}}).warnings,
      ElementsAre(HasSubstr("no tensor of the network is a parameter")));
  EXPECT_THAT(TraceIt(frozen, {}).warnings, IsEmpty());
  EXPECT_THAT(TraceIt(WithRelu(), {.run = {.grad_mode = true}}).warnings,
              IsEmpty());
}

TEST(GradMode, WarnsOfLayersThatAreForInferenceAlone) {
  const auto warnings = [](const char* header) {
    return GradModeWarnings(ParseGraph(
        std::string(header) +
        "\n%x = input f32[2,4,8]\n%w = parameter f32[24,8]\n"
        "%y = _native_multi_head_attention(%x, %w) : f32[2,4,8]\noutput %y\n"));
  };
  EXPECT_THAT(warnings("graph \"a\" grad=on"),
              ElementsAre(HasSubstr("_native_multi_head_attention was")));
  EXPECT_THAT(warnings("graph \"a\""), IsEmpty());
}

}  // namespace
}  // namespace foretell
