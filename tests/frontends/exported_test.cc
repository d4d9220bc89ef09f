// Files that torch.export wrote (scripts/generate/exported_programs.py
// --small).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "foretell/frontends.h"
#include "foretell/trace.h"
#include "tests/frontends/exported_file.h"
#include "tests/graph/expect_error.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::ThrowsMessage;

Program Load(const std::string& name) {
  return LoadModel(
      FORETELL_SOURCE_DIR "/tests/frontends/data/exported/" + name + ".pt2",
      {.sandbox = Sandbox::kOff});
}

Trace RunFile(const std::string& name, const TraceOptions& options = {},
              const InputRequest& request = {}) {
  const Program program = Load(name);
  return TraceProgram(
      program, BindInputs(program.inputs(), request, program.name()), options);
}

std::int64_t CountOf(const OperatorGraph& graph, const std::string& target,
                     Phase phase) {
  const std::vector<std::string> targets = TargetsOf(graph, phase);
  return std::count(targets.begin(), targets.end(), target);
}

/// conv(3→8, 3×3) on 14×14, and linear(8→4), of a batch.
constexpr std::int64_t kConvMacs = 14 * 14 * 8 * 27 + 8 * 4;
constexpr std::int64_t kConvElements = 8 * 27 + 8 + 8 + 8 * 4 + 4;

TEST(Exported, NeedsNoInputsBecauseTheFileHasThem) {
  const Trace trace = RunFile("conv_eval");
  EXPECT_THAT(TargetsOf(trace.graph),
              ElementsAre("conv2d", "batch_norm", "relu_", "mean", "mean",
                          "mul", "dropout", "linear", "mul", "add"));
  EXPECT_EQ(trace.graph.ForwardMacs(), 4 * kConvMacs);
  EXPECT_EQ(trace.graph.ParameterElements(), kConvElements);
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter),
            kConvElements * 4);
  EXPECT_EQ(ToString(trace.inputs.at(0).type), "f32[4,3,16,16]");
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "f32[4,4]");
}

TEST(Exported, ScopesAreModulePaths) {
  const Trace trace = RunFile("vit_tiny");
  std::vector<std::string> scopes;
  for (const Node& node : trace.graph.nodes()) {
    if (node.target == "linear") scopes.push_back(node.scope);
  }
  EXPECT_THAT(scopes, Contains("blocks.1.mlp.0"));
}

TEST(Exported, RefusesAnotherBatchThanTheFileFixes) {
  ExpectError(
      [] { RunFile("conv_eval", {}, {.batch = 8}); },
      ErrorCode::kInvalidArgument,
      "input 'x': dimension 0 is 8, the file fixes it at 4; to vary it, "
      "export the network again with dynamic_shapes={'x': {0: "
      "torch.export.Dim.AUTO}}");
}

TEST(Exported, TakesBatchesInTheRangeOfTheFile) {
  const Trace trace = RunFile("conv_train", {}, {.batch = 64});
  EXPECT_EQ(trace.graph.ForwardMacs(), 64 * kConvMacs);
  ExpectError(
      [] { RunFile("conv_train", {}, {.batch = 65}); },
      ErrorCode::kInvalidArgument,
      "input 'x': dimension 0 is 65, the file allows batch = at most 64");
}

TEST(Exported, TakesOneWhereTheExampleCouldNotBeOne) {
  const Trace trace = RunFile("conv_train", {}, {.batch = 1});
  EXPECT_EQ(trace.graph.ForwardMacs(), kConvMacs);
}

TEST(Exported, DimsFollowTheSymbolsOfTheFile) {
  const Program program = Load("sizes");
  ASSERT_EQ(program.inputs().size(), 2U);
  const std::vector<InputDim>& dims = *program.inputs()[0].dims;
  EXPECT_EQ(dims.at(0).symbol, "batch");
  EXPECT_EQ(dims.at(0).value, 4);
  EXPECT_EQ(dims.at(1).value, 6);
  const Trace trace =
      RunFile("sizes", {}, {.batch = 10, .dims = {{dims.at(1).symbol, 8}}});
  ASSERT_EQ(trace.outputs.size(), 3U);
  EXPECT_EQ(ToString(trace.outputs[0].type), "f32[40,16]");
  EXPECT_EQ(ToString(trace.outputs[1].type), "f32[10,8]");
  EXPECT_EQ(ToString(trace.outputs[2].type), "f32[10,192]");
}

TEST(Exported, NamesResultsAsTheNetworkReturnsThem) {
  EXPECT_THAT(DescribeOutputs(RunFile("cached")),
              ElementsAre("mean=f32[]", "past.0=f32[2,10,8]",
                          "tokens=i64[] on the host", "new=i64[] on the host"));
}

TEST(Exported, SizesOfTwoSymbolsAreComputed) {
  for (const InputRequest& request :
       {InputRequest{.batch = 4, .dims = {{"x.1", 1}, {"past.1", 128}}},
        InputRequest{.batch = 4, .dims = {{"x.1", 1}, {"mask.2", 129}}},
        InputRequest{.inputs = {ParseInput("x=[4,1,8]"),
                                ParseInput("past=[4,128,8]")}}}) {
    const Trace trace = RunFile("cached", {}, request);
    EXPECT_EQ(ToString(trace.inputs.at(2).type), "f32[4,1,129]");
    EXPECT_EQ(ToString(trace.outputs.at(1).type), "f32[4,129,8]");
    EXPECT_EQ(trace.graph.ForwardMacs(), 4 * 8 * 8 + 4 * 8 * 129);
  }
  ExpectError(
      [] {
        RunFile(
            "cached", {},
            {.batch = 4, .dims = {{"mask.2", 5}, {"x.1", 2}, {"past.1", 4}}});
      },
      ErrorCode::kInvalidArgument,
      "input 'mask': dimension 2 is 5, expected 6 (");
}

TEST(Exported, GuardsSayWhatAnotherInputsSizeIs) {
  const Trace trace = RunFile(
      "patches", {}, {.batch = 3, .dims = {{"image.2", 64}, {"image.3", 9}}});
  EXPECT_EQ(ToString(trace.inputs.at(1).type), "f32[3,8,32,5]");
  EXPECT_EQ(trace.graph.ForwardMacs(), 3 * 8 * 27 * 32 * 5);
  const auto other = [] {
    RunFile("patches", {},
            {.inputs = {ParseInput("image=[3,3,64,64]"),
                        ParseInput("skip=[3,8,1,1]")}});
  };
  ExpectError(other, ErrorCode::kInvalidArgument,
              "input 'skip': dimension 2 is 1, expected 32 (");
}

TEST(Exported, ContentsAndNumbersCanBeGiven) {
  InputRequest request = {.values = {{"counts", {4, 9}}, {"times", {2}}}};
  const Trace trace = RunFile("contents", {}, request);
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "f32[18,2,4]");
  EXPECT_EQ(ToString(trace.inputs.at(2).type), "i64[]");
  // On the CPU what nobody gives is what the file's checks let pass, and the
  // number of its example.
  EXPECT_EQ(ToString(RunFile("contents", {.device = TraceDevice::kCpu})
                         .outputs.at(0)
                         .type),
            "f32[15,2,4]");
  request.values["counts"] = {1, 2};
  ExpectError([&] { RunFile("contents", {}, request); },
              ErrorCode::kInvalidArgument, "the file's own check fails");
}

TEST(Exported, NamesSizesThatAreTheExamples) {
  EXPECT_THAT(
      RunFile("cached", {}, {.batch = 4}).warnings,
      Contains(AllOf(HasSubstr("= 3 (x.1, mask.1)"), HasSubstr("= 7 (past.1)"),
                     Not(HasSubstr("batch")))));
}

TEST(Exported, TiedWeightsCountOnce) {
  const Trace trace = RunFile("sizes");
  EXPECT_EQ(trace.graph.ParameterElements(), 16 * 8);
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter), 16 * 8 * 4);
}

TEST(Exported, TrainsAsItWasExported) {
  const Trace trace = RunFile("conv_train", {.run = {.mode = Mode::kTraining}});
  EXPECT_THAT(TargetsOf(trace.graph, Phase::kForward), Contains("add_"));
  EXPECT_THAT(TargetsOf(trace.graph, Phase::kBackward),
              Contains("convolution_backward"));
  EXPECT_THAT(trace.warnings, Not(Contains(HasSubstr("exported in"))));
}

TEST(Exported, SwitchesToTheModeThatIsAskedFor) {
  const Trace train = RunFile("conv_eval", {.run = {.mode = Mode::kTraining}});
  EXPECT_THAT(train.warnings, Contains(HasSubstr("was exported in eval()")));
  EXPECT_THAT(TargetsOf(train.graph, Phase::kForward), Contains("add_"));
  EXPECT_THAT(TargetsOf(train.graph, Phase::kBackward),
              Contains("native_dropout_backward"));
  const Trace eval = RunFile("conv_train");
  EXPECT_THAT(eval.warnings, Contains(HasSubstr("was exported in train()")));
  // Evaluation counts no batches.
  EXPECT_THAT(TargetsOf(eval.graph, Phase::kForward), Not(Contains("add_")));
}

// timm's NFNets normalise weights by a batch norm that has no mode.
TEST(Exported, ABatchNormWithoutStatisticsIsNoMode) {
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    const Trace trace = RunFile("standardized", {.run = {.mode = mode}});
    EXPECT_THAT(trace.warnings, Not(Contains(HasSubstr("exported in"))));
    EXPECT_EQ(trace.graph.ForwardMacs(), 4 * 4 * 6 * 6 * 27);
  }
}

TEST(Exported, DecomposedFilesAreReadWithAWarningInTraining) {
  const Trace inference = RunFile("conv_decomposed");
  EXPECT_EQ(inference.graph.ForwardMacs(), 4 * kConvMacs);
  const Trace training =
      RunFile("conv_decomposed", {.run = {.mode = Mode::kTraining}});
  EXPECT_THAT(training.warnings, Contains(HasSubstr("decomposed operators")));
}

// Its graph returns the new statistics of the batch norm, which has saved the
// old ones, and they are written in the end.
TEST(Exported, TrainsADecomposedBatchNorm) {
  const Trace trace =
      RunFile("conv_train_decomposed", {.run = {.mode = Mode::kTraining}});
  EXPECT_THAT(TargetsOf(trace.graph, Phase::kBackward),
              Contains("native_batch_norm_backward"));
  EXPECT_EQ(CountOf(trace.graph, "copy_", Phase::kForward), 3);
}

// x[5,8] · w[8,4] for three weights at once; cos(x) is the same for all.
TEST(Exported, RunsVmapOnWholeBatches) {
  const Trace trace = RunFile("vmapped");
  EXPECT_EQ(trace.graph.ForwardMacs(), 3 * 5 * 8 * 4);
  EXPECT_EQ(CountOf(trace.graph, "tanh", Phase::kForward), 1);
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "f32[3,5,4]");
  EXPECT_EQ(ToString(trace.outputs.at(1).type), "f32[3,5,8]");
  const Trace training = RunFile("vmapped", {.run = {.mode = Mode::kTraining}});
  EXPECT_EQ(CountOf(training.graph, "tanh_backward", Phase::kBackward), 1);
}

TEST(Exported, KeepsANumberThatItCopiesIntoOnTheDevice) {
  EXPECT_THAT(TargetsOf(RunFile("positioned").graph), Contains("copy_"));
}

TEST(Exported, RunsBranchesAndLoopsOfKnownLength) {
  const Trace trace = RunFile("branches");
  const std::vector<std::string> targets = TargetsOf(trace.graph);
  EXPECT_THAT(targets, Contains("linear"));
  EXPECT_THAT(targets, Not(Contains("sin")));
  EXPECT_EQ(std::count(targets.begin(), targets.end(), "clone"), 5);
  EXPECT_EQ(ToString(trace.outputs.at(1).type), "f32[5,4]");
  const Trace small = RunFile("branches", {}, {.batch = 2});
  EXPECT_THAT(TargetsOf(small.graph), Contains("sin"));
}

// linear(4→4) on every row of the batch, as many times as it has rows.
TEST(Exported, CountsTheRoundsOfAWhileLoop) {
  for (const std::int64_t rows : {2, 5, 9}) {
    const Trace trace = RunFile("rounds", {}, {.batch = rows});
    EXPECT_EQ(CountOf(trace.graph, "relu", Phase::kForward), rows);
    EXPECT_EQ(trace.graph.ForwardMacs(), rows * rows * 4 * 4);
  }
}

TEST(Exported, AWhileLoopThatValuesEndNeedsArithmetic) {
  ExpectError([] { RunFile("search"); }, ErrorCode::kUnsupported,
              "torch.ops.higher_order.while_loop: depends on the content of a "
              "tensor, which a trace without arithmetic does not have; use "
              "--trace cpu");
  const Trace trace = RunFile("search", {.device = TraceDevice::kCpu});
  EXPECT_THAT(TargetsOf(trace.graph),
              ElementsAre("abs", "sum", "ge", "mul", "abs", "sum", "ge"));
}

TEST(Exported, MapsEveryElementAndStacksWhatItGives) {
  for (const TraceDevice device : {TraceDevice::kMeta, TraceDevice::kCpu}) {
    const Trace trace = RunFile("mapped", {.device = device}, {.batch = 7});
    EXPECT_EQ(CountOf(trace.graph, "sin", Phase::kForward), 7);
    EXPECT_EQ(CountOf(trace.graph, "stack", Phase::kForward), 2);
    EXPECT_EQ(trace.graph.ForwardMacs(), 7 * 3 * 4 * 6);
    ASSERT_EQ(trace.outputs.size(), 2U);
    EXPECT_EQ(ToString(trace.outputs[0].type), "f32[7,3,6]");
    EXPECT_EQ(ToString(trace.outputs[1].type), "f32[7,3,4]");
  }
}

TEST(Exported, ComputesRoundsAndElementsAgainInTheBackwardPass) {
  for (const std::string name : {"rounds", "mapped"}) {
    SCOPED_TRACE(name);
    const Trace trace = RunFile(name, {.run = {.mode = Mode::kTraining}});
    EXPECT_EQ(CountOf(trace.graph, "linear", Phase::kForward), 5);
    EXPECT_EQ(CountOf(trace.graph, "linear", Phase::kBackward), 5);
  }
}

TEST(Exported, CastsWhereTheFileDoes) {
  const Trace trace = RunFile("casting");
  std::vector<std::string> types;
  for (const Node& node : trace.graph.nodes()) {
    if (node.target != "linear") continue;
    types.push_back(ToString(trace.graph.value(node.outputs[0]).type));
  }
  EXPECT_THAT(types, ElementsAre("bf16[4,8]", "f32[4,8]"));
}

TEST(Exported, AutocastPausesWhereTheFileDisablesIt) {
  const Trace trace = RunFile("casting", {.run = {.autocast = true}});
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "f32[4,8]");
}

TEST(Exported, WritesIntoBuffers) {
  const Trace trace = RunFile("counter", {}, {.batch = 16});
  EXPECT_THAT(TargetsOf(trace.graph), ElementsAre("sum", "add_", "sub"));
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kBuffer), 8 * 4);
}

TEST(Exported, RunsRecurrentLayers) {
  const Trace trace = RunFile("recurrent", {.run = {.mode = Mode::kTraining}});
  EXPECT_EQ(trace.graph.ForwardMacs(),
            4 * 5 * (4 * 16 * (8 + 16) + 4 * 16 * (16 + 16)));
}

TEST(Exported, MakesStatesOfRecurrentLayersInThePrecision) {
  const auto types_of_zeros = [](const Trace& trace) {
    std::vector<std::string> types;
    for (const Node& node : trace.graph.nodes()) {
      if (node.target != "zeros") continue;
      types.push_back(ToString(trace.graph.value(node.outputs[0]).type));
    }
    return types;
  };
  const TraceOptions half = {.run = {.precision = Precision::kBf16}};
  EXPECT_THAT(types_of_zeros(RunFile("recurrent")),
              AllOf(Not(IsEmpty()), Each(StartsWith("f32["))));
  EXPECT_THAT(types_of_zeros(RunFile("recurrent", half)),
              AllOf(Not(IsEmpty()), Each(StartsWith("bf16["))));
  // Autocast keeps the types of the file.
  EXPECT_THAT(types_of_zeros(RunFile(
                  "recurrent",
                  {.run = {.precision = Precision::kBf16, .autocast = true}})),
              Each(StartsWith("f32[")));
}

// Its mask is cast to the type of the weights.
TEST(Exported, ReadsTypesThatFollowTheWeights) {
  const Trace trace =
      RunFile("masked", {.run = {.precision = Precision::kBf16}});
  EXPECT_EQ(trace.outputs.at(0).type.dtype, DType::kBF16);
  EXPECT_THAT(trace.warnings,
              Contains(HasSubstr("are taken for bf16, as code like")));
}

TEST(Exported, KeepsFloatsThatTheCodeAsksFor) {
  EXPECT_THAT(
      [] { RunFile("casting", {.run = {.precision = Precision::kBf16}}); },
      ThrowsMessage<Error>(HasSubstr("the file fixes element types")));
}

TEST(Exported, CastsItsWeights) {
  const Trace trace =
      RunFile("vit_tiny", {.run = {.precision = Precision::kBf16}});
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "bf16[2,10]");
}

TEST(Exported, RunsOnTheCpu) {
  for (const std::string name : {"conv_eval", "sizes", "branches", "counter"}) {
    SCOPED_TRACE(name);
    const Trace real = RunFile(name, {.device = TraceDevice::kCpu});
    EXPECT_EQ(real.graph.ForwardMacs(), RunFile(name).graph.ForwardMacs());
    EXPECT_EQ(ToString(real.outputs.at(0).type),
              ToString(RunFile(name).outputs.at(0).type));
  }
}

TEST(Exported, OpensInASandbox) {
  const std::string path =
      FORETELL_SOURCE_DIR "/tests/frontends/data/exported/vit_tiny.pt2";
  const Program program = LoadModel(path, {.sandbox = Sandbox::kAuto});
  EXPECT_EQ(program.format(), "exported");
  const auto inputs = BindInputs(program.inputs(), {.batch = 3}, path);
  EXPECT_EQ(ToString(TraceProgram(program, inputs).outputs.at(0).type),
            "f32[3,10]");
}

TEST(Exported, TransformersProductOfExpertsIsATensGroupedOne) {
  using exported::Named;
  using exported::NodeJson;
  using exported::TensorArgument;
  const exported::SavedProgram saved(exported::ModelJson(
      NodeJson("experts", "torch.ops.aten.expand.default",
               Named("self", TensorArgument("w")) + ", " +
                   Named("size", R"({"as_ints": [2, 4, 4]})")) +
          ", " +
          NodeJson("offs", "torch.ops.aten.argmax.default",
                   Named("self", TensorArgument("x")) + ", " +
                       Named("dim", R"({"as_int": 1})")) +
          ", " +
          NodeJson("y", "torch.ops.transformers.grouped_mm_fallback.default",
                   Named("input", TensorArgument("x")) + ", " +
                       Named("weight", TensorArgument("experts")) + ", " +
                       Named("offs", TensorArgument("offs"))),
      TensorArgument("y")));
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    const Trace trace = saved.Run({.run = {.mode = mode}});
    EXPECT_EQ(ToString(trace.outputs.at(0).type), "f32[2,4]");
    EXPECT_EQ(trace.graph.ForwardMacs(), 2 * 4 * 4);
  }
}

}  // namespace
}  // namespace foretell
