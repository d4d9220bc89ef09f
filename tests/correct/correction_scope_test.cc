#include "src/correct/correction_scope.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "foretell/predictor.h"
#include "src/correct/scope_step.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using Place = ScopeFactor::Place;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Lacks 100 MiB, and 2 for a sample and a unit of `width`.
Correction SampleGap() {
  Correction gap{
      .origin = "gap.json",
      .scope = {.model = "zoo:mlp?hidden={width}",
                .measured_on = "cuda:0",
                .device = "a100-sxm4-40gb",
                .context = "cuda13",
                .run = {.host = Host::kCpp},
                .factors = {{.name = "batch", .lowest = 4, .highest = 16},
                            {.name = "width",
                             .place = Place::kField,
                             .lowest = 1,
                             .highest = 64},
                            {.name = "inputs",
                             .place = Place::kLength,
                             .input = "x",
                             .dim = 1,
                             .lowest = 3,
                             .highest = 3}},
                .step =
                    ScopeStep{
                        .inputs = {}, .operators = {1, 1}, .parameters = {}}},
      .terms = {.gap = {{100, {0, 0, 0}}, {2, {1, 1, 0}}}},
      .rows = 9,
      .networks = 1};
  gap[Target::kMemory] = CorrectedFigure::OfOneModel(9, 0.01, 0.25);
  return gap;
}

OperatorGraph NamedGraph(const std::string& name, int batch) {
  const std::string b = std::to_string(batch);
  return ParseGraph("graph \"" + name + "\" batch=" + b + "\n%x = input f32[" +
                    b + ",3]\n%y = relu(%x) : f32[" + b + ",3]\noutput %y\n");
}

Predictor CalibratedBy(const Correction& correction, const Run& run = {}) {
  return Predictor::Analytic(
      DeviceCatalog::BuiltIn().FindDevice("a100"), run,
      {.context = DeviceCatalog::BuiltIn().FindContext("cuda13"),
       .correction = correction});
}

TEST(CorrectionScope, KnowsItsGapAtAGraph) {
  const GapAt inside = GapOf(SampleGap(), NamedGraph("zoo:mlp?hidden=8", 4));
  EXPECT_EQ(inside.mib, 100 + 2 * 4 * 8);
  EXPECT_THAT(inside.outside, IsEmpty());
  const GapAt beyond = GapOf(SampleGap(), NamedGraph("zoo:mlp?hidden=8", 32));
  EXPECT_EQ(beyond.mib, 100 + 2 * 16 * 8);
  EXPECT_THAT(beyond.outside, ElementsAre("batch 32, of 4 to 16"));
}

TEST(CorrectionScope, IsOfOneModel) {
  for (const std::string name :
       {"zoo:mlp", "zoo:mlp?hidden=8,8", "zoo:vgg11?hidden=8"}) {
    ExpectError([&] { GapOf(SampleGap(), NamedGraph(name, 4)); },
                ErrorCode::kInvalidArgument,
                "gap.json: was measured with the model "
                "zoo:mlp?hidden={width}; asked for is " +
                    name);
  }
  Correction of_file = SampleGap();
  of_file.scope.model = "models/net.onnx";
  of_file.scope.factors = {{.name = "batch", .lowest = 1, .highest = 9}};
  of_file.terms.gap = {{1, {1}}};
  EXPECT_EQ(GapOf(of_file, NamedGraph("net.onnx", 4)).mib, 4);
}

TEST(CorrectionScope, AddsTheGapToTheMemory) {
  const OperatorGraph graph = NamedGraph("zoo:mlp?hidden=8", 4);
  Correction nothing = SampleGap();
  nothing.terms.gap.clear();
  const double plain =
      CalibratedBy(nothing).Predict(graph)[Target::kMemory].value;
  const Prediction calibrated = CalibratedBy(SampleGap()).Predict(graph);
  const Figure& memory = calibrated[Target::kMemory];
  EXPECT_NEAR(memory.value, plain + 164, 1e-3);
  EXPECT_NEAR(memory.interval.hi, memory.value * 1.25, 1e-6);
  EXPECT_THAT(memory.source.method,
              HasSubstr("calibrated by 9 runs of zoo:mlp?hidden={width}"));
  EXPECT_THAT(memory.warnings, IsEmpty());
  const Prediction beyond =
      CalibratedBy(SampleGap()).Predict(NamedGraph("zoo:mlp?hidden=8", 32));
  EXPECT_THAT(beyond[Target::kMemory].warnings,
              ElementsAre(HasSubstr("batch 32, of 4 to 16 lies outside of the "
                                    "runs of gap.json")));
}

/// `height` x `width` of images that two operators take.
OperatorGraph Images(int batch, int height, int width) {
  const std::string type = fmt::format("f32[{},3,{},{}]", batch, height, width);
  return ParseGraph(fmt::format(
      "graph \"net.onnx\" batch={}\n%x = input {}\n%n = input f32[7]\n"
      "%y = relu(%x) : {}\n%z = relu(%y) : {}\noutput %z\n",
      batch, type, type, type));
}

/// Runs of 1 to 8 images of the height 32 and the width of the factor.
Correction GapOfImages() {
  Correction gap = SampleGap();
  gap.scope.model = "net.onnx";
  gap.scope.factors = {{.name = "batch", .lowest = 1, .highest = 8},
                       {.name = "edge",
                        .place = Place::kLength,
                        .input = "x",
                        .dim = 3,
                        .lowest = 16,
                        .highest = 64}};
  gap.terms.gap = {{5, {0, 0}}};
  const std::vector<std::string> names = {"batch", "edge"};
  gap.scope.step =
      CommonStep(std::vector<ShownStep>{ShownBy(Images(1, 32, 64), {1, 64}),
                                        ShownBy(Images(8, 32, 16), {8, 16})},
                 names);
  return gap;
}

TEST(CorrectionScope, KnowsTheSizesThatWereNoFactor) {
  const ScopeStep step = *GapOfImages().scope.step;
  ASSERT_EQ(step.inputs.size(), 2);
  EXPECT_EQ(step.inputs[0].name, "x");
  EXPECT_THAT(step.inputs[0].shape,
              ElementsAre(ScopeSize{.factor = "batch"}, ScopeSize{.size = 3},
                          ScopeSize{.size = 32}, ScopeSize{.factor = "edge"}));
  EXPECT_THAT(step.inputs[1].shape, ElementsAre(ScopeSize{.size = 7}));
  EXPECT_EQ(step.operators.lowest, 2);
  EXPECT_EQ(step.operators.highest, 2);
}

TEST(CorrectionScope, ComparesNothingWithSizesThatNoFactorSays) {
  const std::vector<std::string> names = {"batch"};
  const ScopeStep step =
      CommonStep(std::vector<ShownStep>{ShownBy(Images(1, 32, 64), {1}),
                                        ShownBy(Images(8, 16, 64), {8})},
                 names);
  EXPECT_EQ(step.inputs[0].shape[2], ScopeSize{});
  Correction gap = GapOfImages();
  gap.scope.step = step;
  EXPECT_THAT(GapOf(gap, Images(4, 50, 64)).outside, IsEmpty());
}

TEST(CorrectionScope, SaysWhereTheSizesAreOthers) {
  EXPECT_THAT(GapOf(GapOfImages(), Images(4, 32, 48)).outside, IsEmpty());
  EXPECT_THAT(GapOf(GapOfImages(), Images(4, 48, 48)).outside,
              ElementsAre("dimension 2 of input 'x' 48, of 32"));
  Correction square = GapOfImages();
  square.scope.step->inputs[0].shape[2] = {.factor = "edge"};
  EXPECT_THAT(GapOf(square, Images(4, 48, 16)).outside,
              ElementsAre("dimension 2 of input 'x' 48, of 16 (edge)"));
  const Figure memory =
      CalibratedBy(GapOfImages()).Predict(Images(4, 48, 48))[Target::kMemory];
  EXPECT_THAT(memory.warnings,
              ElementsAre("memory: dimension 2 of input 'x' 48, of 32 lies "
                          "outside of the runs of gap.json; calibrated by the "
                          "nearest"));
  EXPECT_GE(memory.interval.hi, memory.value * 1.25);
}

TEST(CorrectionScope, SaysWhereTheStepIsAnother) {
  Correction gap = GapOfImages();
  gap.scope.step->operators = {3, 5};
  gap.scope.step->parameters = {1, 1};
  gap.scope.step->inputs[1].name = "gone";
  EXPECT_THAT(GapOf(gap, Images(4, 32, 48)).outside,
              ElementsAre("no input 'gone'", "operators 2, of 3 to 5",
                          "parameters 0, of 1"));
  gap = GapOfImages();
  gap.scope.step->inputs[1].shape.clear();
  EXPECT_THAT(GapOf(gap, Images(4, 32, 48)).outside,
              ElementsAre("dimensions of input 'n' 1, of 0"));
}

TEST(CorrectionScope, SaysOnceWhatAnOldFileLacks) {
  Correction old = GapOfImages();
  old.scope.step.reset();
  const std::string json = CorrectionToJson(old);
  EXPECT_EQ(json.find("\"step\""), std::string::npos);
  const Prediction prediction =
      CalibratedBy(CorrectionFromJson(json, "gap.json"))
          .Predict(Images(4, 48, 48));
  EXPECT_THAT(prediction[Target::kMemory].warnings,
              ElementsAre("memory: gap.json does not say at which other sizes "
                          "its runs were; calibrate again to have them "
                          "compared"));
}

TEST(CorrectionScope, IsOfOneAllocator) {
  ExpectError(
      [] {
        Predictor::Analytic(
            DeviceCatalog::BuiltIn().FindDevice("a100"), {},
            {.context = DeviceCatalog::BuiltIn().FindContext("cuda13"),
             .allocator = {.expandable_segments = true},
             .correction = SampleGap()});
      },
      ErrorCode::kInvalidArgument,
      "gap.json: was measured with allocator PyTorch's default; asked for is "
      "--expandable-segments");
}

TEST(CorrectionScope, IsRefusedElsewhere) {
  Correction on_cpu = SampleGap();
  on_cpu.scope.measured_on = "cpu";
  ExpectError([&] { CalibratedBy(on_cpu); }, ErrorCode::kInvalidArgument,
              "gap.json: was measured on the CPU");
  Correction other = SampleGap();
  other.scope.device = "rtx-4090";
  ExpectError([&] { CalibratedBy(other); }, ErrorCode::kInvalidArgument,
              "with device rtx-4090; asked for is a100-sxm4-40gb");
  ExpectError([] { CalibratedBy(SampleGap(), {.mode = Mode::kTraining}); },
              ErrorCode::kInvalidArgument, "mode");
}

}  // namespace
}  // namespace foretell
