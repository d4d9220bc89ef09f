#include "foretell/calibration.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "foretell/predictor.h"
#include "src/predict/read_correction.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using Place = CalibratedFactor::Place;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Lacks 100 MiB, and 2 for a sample and a unit of `width`.
Calibration SampleGap() {
  return {.origin = "gap.json",
          .model = "zoo:mlp?hidden={width}",
          .measured_on = "cuda:0",
          .device = "a100-sxm4-40gb",
          .context = "cuda13",
          .run = {.host = Host::kCpp},
          .runs = 9,
          .error_left_out = 0.01,
          .largest_error_left_out = 0.25,
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
          .gap = {{100, {0, 0, 0}}, {2, {1, 1, 0}}},
          .step = CalibratedStep{
              .inputs = {}, .operators = {1, 1}, .parameters = {}}};
}

OperatorGraph NamedGraph(const std::string& name, int batch) {
  const std::string b = std::to_string(batch);
  return ParseGraph("graph \"" + name + "\" batch=" + b + "\n%x = input f32[" +
                    b + ",3]\n%y = relu(%x) : f32[" + b + ",3]\noutput %y\n");
}

Predictor CalibratedBy(const Calibration& calibration, const Run& run = {}) {
  return Predictor::Analytic(
      DeviceCatalog::BuiltIn().FindDevice("a100"), run,
      {.context = DeviceCatalog::BuiltIn().FindContext("cuda13"),
       .calibration = calibration});
}

TEST(Calibration, ReadsWhatItWrites) {
  const std::string json = CalibrationToJson(SampleGap());
  EXPECT_EQ(CalibrationToJson(CalibrationFromJson(json, "gap.json")), json);
  PredictorOptions options;
  ReadCorrection(json, "gap.json", options);
  EXPECT_TRUE(options.calibration);
  EXPECT_FALSE(options.adaptation);
}

TEST(Calibration, IsToldFromAnAdaptationByItsFormat) {
  Adaptation adaptation{
      .device = "a100", .context = "c", .rows = 5, .networks = 3};
  std::string json = AdaptationToJson(adaptation);
  PredictorOptions options;
  ReadCorrection(json, "mine.json", options);
  EXPECT_TRUE(options.adaptation);
  const std::string format = "\"format\": \"adaptation\",";
  json.erase(json.find(format), format.size());  // Of before there was one.
  ReadCorrection(json, "mine.json", options);
  EXPECT_FALSE(options.calibration);
  ExpectError([&] { ReadCorrection("{\"format\": \"x\"}", "f.json", options); },
              ErrorCode::kCorrupt, "expected 'adaptation' or 'calibration'");
}

TEST(Calibration, NamesTheFieldThatIsWrong) {
  std::string json = CalibrationToJson(SampleGap());
  const std::string powers = "\"powers\": [\n        0,";
  ASSERT_NE(json.find(powers), std::string::npos) << json;
  json.replace(json.find(powers), powers.size(), "\"powers\": [");
  ExpectError([&] { CalibrationFromJson(json, "gap.json"); },
              ErrorCode::kCorrupt, "powers");
}

TEST(Calibration, KnowsItsGapAtAGraph) {
  const GapAt inside = GapOf(SampleGap(), NamedGraph("zoo:mlp?hidden=8", 4));
  EXPECT_EQ(inside.mib, 100 + 2 * 4 * 8);
  EXPECT_THAT(inside.outside, IsEmpty());
  const GapAt beyond = GapOf(SampleGap(), NamedGraph("zoo:mlp?hidden=8", 32));
  EXPECT_EQ(beyond.mib, 100 + 2 * 16 * 8);
  EXPECT_THAT(beyond.outside, ElementsAre("batch 32, of 4 to 16"));
}

TEST(Calibration, IsOfOneModel) {
  for (const std::string name :
       {"zoo:mlp", "zoo:mlp?hidden=8,8", "zoo:vgg11?hidden=8"}) {
    ExpectError([&] { GapOf(SampleGap(), NamedGraph(name, 4)); },
                ErrorCode::kInvalidArgument,
                "gap.json: was calibrated with the model "
                "zoo:mlp?hidden={width}; asked for is " +
                    name);
  }
  Calibration of_file = SampleGap();
  of_file.model = "models/net.onnx";
  of_file.factors = {{.name = "batch", .lowest = 1, .highest = 9}};
  of_file.gap = {{1, {1}}};
  EXPECT_EQ(GapOf(of_file, NamedGraph("net.onnx", 4)).mib, 4);
}

TEST(Calibration, AddsTheGapToTheMemory) {
  const OperatorGraph graph = NamedGraph("zoo:mlp?hidden=8", 4);
  Calibration nothing = SampleGap();
  nothing.gap.clear();
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
Calibration GapOfImages() {
  Calibration gap = SampleGap();
  gap.model = "net.onnx";
  gap.factors = {{.name = "batch", .lowest = 1, .highest = 8},
                 {.name = "edge",
                  .place = Place::kLength,
                  .input = "x",
                  .dim = 3,
                  .lowest = 16,
                  .highest = 64}};
  gap.gap = {{5, {0, 0}}};
  const std::vector<std::string> names = {"batch", "edge"};
  gap.step =
      CommonStep(std::vector<ShownStep>{ShownBy(Images(1, 32, 64), {1, 64}),
                                        ShownBy(Images(8, 32, 16), {8, 16})},
                 names);
  return gap;
}

TEST(Calibration, KnowsTheSizesThatWereNoFactor) {
  const CalibratedStep step = *GapOfImages().step;
  ASSERT_EQ(step.inputs.size(), 2);
  EXPECT_EQ(step.inputs[0].name, "x");
  EXPECT_THAT(step.inputs[0].shape,
              ElementsAre(CalibratedSize{.factor = "batch"},
                          CalibratedSize{.size = 3}, CalibratedSize{.size = 32},
                          CalibratedSize{.factor = "edge"}));
  EXPECT_THAT(step.inputs[1].shape, ElementsAre(CalibratedSize{.size = 7}));
  EXPECT_EQ(step.operators.lowest, 2);
  EXPECT_EQ(step.operators.highest, 2);
  const std::string json = CalibrationToJson(GapOfImages());
  EXPECT_EQ(CalibrationToJson(CalibrationFromJson(json, "gap.json")), json);
}

TEST(Calibration, ComparesNothingWithSizesThatNoFactorSays) {
  const std::vector<std::string> names = {"batch"};
  const CalibratedStep step =
      CommonStep(std::vector<ShownStep>{ShownBy(Images(1, 32, 64), {1}),
                                        ShownBy(Images(8, 16, 64), {8})},
                 names);
  EXPECT_EQ(step.inputs[0].shape[2], CalibratedSize{});
  Calibration gap = GapOfImages();
  gap.step = step;
  EXPECT_THAT(GapOf(gap, Images(4, 50, 64)).outside, IsEmpty());
}

TEST(Calibration, SaysWhereTheSizesAreOthers) {
  EXPECT_THAT(GapOf(GapOfImages(), Images(4, 32, 48)).outside, IsEmpty());
  EXPECT_THAT(GapOf(GapOfImages(), Images(4, 48, 48)).outside,
              ElementsAre("dimension 2 of input 'x' 48, of 32"));
  Calibration square = GapOfImages();
  square.step->inputs[0].shape[2] = {.factor = "edge"};
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

TEST(Calibration, SaysWhereTheStepIsAnother) {
  Calibration gap = GapOfImages();
  gap.step->operators = {3, 5};
  gap.step->parameters = {1, 1};
  gap.step->inputs[1].name = "gone";
  EXPECT_THAT(GapOf(gap, Images(4, 32, 48)).outside,
              ElementsAre("no input 'gone'", "operators 2, of 3 to 5",
                          "parameters 0, of 1"));
  gap = GapOfImages();
  gap.step->inputs[1].shape.clear();
  EXPECT_THAT(GapOf(gap, Images(4, 32, 48)).outside,
              ElementsAre("dimensions of input 'n' 1, of 0"));
}

TEST(Calibration, SaysOnceWhatAnOldFileLacks) {
  Calibration old = GapOfImages();
  old.step.reset();
  const std::string json = CalibrationToJson(old);
  EXPECT_EQ(json.find("\"step\""), std::string::npos);
  const Prediction prediction =
      CalibratedBy(CalibrationFromJson(json, "gap.json"))
          .Predict(Images(4, 48, 48));
  EXPECT_THAT(prediction[Target::kMemory].warnings,
              ElementsAre("memory: gap.json does not say at which other sizes "
                          "its runs were; calibrate again to have them "
                          "compared"));
}

TEST(Calibration, NamesTheFactorThatIsNone) {
  std::string json = CalibrationToJson(GapOfImages());
  const std::string factor = "\"factor\": \"edge\"";
  ASSERT_NE(json.find(factor), std::string::npos) << json;
  json.replace(json.find(factor), factor.size(), "\"factor\": \"depth\"");
  ExpectError([&] { CalibrationFromJson(json, "gap.json"); },
              ErrorCode::kCorrupt,
              "step.inputs[0].shape[3].factor is 'depth', which is not one of "
              "the factors");
}

TEST(Calibration, IsOfOneAllocator) {
  ExpectError(
      [] {
        Predictor::Analytic(
            DeviceCatalog::BuiltIn().FindDevice("a100"), {},
            {.context = DeviceCatalog::BuiltIn().FindContext("cuda13"),
             .allocator = {.expandable_segments = true},
             .calibration = SampleGap()});
      },
      ErrorCode::kInvalidArgument,
      "gap.json: was calibrated with allocator PyTorch's default; asked for is "
      "--expandable-segments");
}

TEST(Calibration, IsRefusedElsewhere) {
  Calibration on_cpu = SampleGap();
  on_cpu.measured_on = "cpu";
  ExpectError([&] { CalibratedBy(on_cpu); }, ErrorCode::kInvalidArgument,
              "gap.json: was measured on the CPU");
  Calibration other = SampleGap();
  other.device = "rtx-4090";
  ExpectError([&] { CalibratedBy(other); }, ErrorCode::kInvalidArgument,
              "with device rtx-4090; asked for is a100-sxm4-40gb");
  ExpectError([] { CalibratedBy(SampleGap(), {.mode = Mode::kTraining}); },
              ErrorCode::kInvalidArgument, "mode");
}

}  // namespace
}  // namespace foretell
