#include "datasets/collect/trace_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "expect_error.h"
#include "foretell/frontends.h"
#include "foretell/graph_io.h"
#include "scratch.h"

namespace foretell::dataset {
namespace {

using dataset_test::ExpectError;
using dataset_test::Scratch;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kExamples = std::string(FORETELL_SOURCE_DIR) + "/examples/";

Point PointOf(const std::string& file, std::int64_t batch) {
  return {.model = "resnet18",
          .family = "resnet",
          .format = {},
          .path = kExamples + file,
          .batch = batch,
          .mode = Mode::kInference,
          .precision = Precision::kFp32,
          .optimizer = {},
          .inputs = {},
          .image_size = {}};
}

TraceSetup MakeSetup(int* opened = nullptr) {
  return {.open =
              [opened](const Point& point) {
                if (opened != nullptr) ++*opened;
                return LoadModel(point.path);
              },
          .inputs = {},
          .dims = {}};
}

TEST(PointTracer, FindsOutWhatThePlanDidNotKnow) {
  PointTracer tracer(MakeSetup());
  const TracedPoint traced = tracer.Trace(PointOf("resnet18.onnx", 8));
  EXPECT_EQ(traced.point.format, "onnx");
  EXPECT_EQ(traced.point.inputs, "image=f32[8,3,224,224]");
  EXPECT_EQ(traced.point.image_size, 224);
  EXPECT_EQ(traced.graph.summary.statics.macs, std::int64_t{8} * 1'814'073'344);
  EXPECT_EQ(traced.graph.summary.statics.batch, 8);
}

TEST(PointTracer, NamesTheGraphAfterThePointNotItsFolder) {
  PointTracer tracer(MakeSetup());
  const TracedPoint traced = tracer.Trace(PointOf("resnet18.onnx", 1));
  const std::string text =
      Unpack(traced.graph.text.data, traced.graph.text.raw_bytes);
  EXPECT_THAT(text, StartsWith("graph \"resnet18\" mode=inference"));
  EXPECT_EQ(text.find(kExamples), std::string::npos);
}

TEST(PointTracer, OpensAModelOnceForItsBatches) {
  int opened = 0;
  PointTracer tracer(MakeSetup(&opened));
  tracer.Trace(PointOf("resnet18.onnx", 1));
  tracer.Trace(PointOf("resnet18.onnx", 8));
  EXPECT_EQ(opened, 1);
  Point other = PointOf("resnet18.onnx", 8);
  other.model = "other";
  tracer.Trace(other);
  EXPECT_EQ(opened, 2);
}

TEST(PointTracer, TracesTrainingWithItsOptimizer) {
  TraceSetup setup = MakeSetup();
  setup.inputs["resnet18"] = {{"", {DType::kF32, {1, 3, 64, 64}}}};
  PointTracer tracer(std::move(setup));
  Point point = PointOf("resnet18.pt", 4);
  point.mode = Mode::kTraining;
  point.optimizer = "adam";
  const TracedPoint traced = tracer.Trace(point);
  EXPECT_EQ(traced.point.format, "torchscript");
  EXPECT_EQ(traced.point.image_size, 64);
  EXPECT_THAT(traced.point.inputs, HasSubstr("f32[4,3,64,64]"));
  const TensorType expected{DType::kF32, {4, 3, 64, 64}};
  ASSERT_EQ(InputsOf(traced.point).size(), 1U);
  EXPECT_EQ(InputsOf(traced.point).front().type, expected);
  const std::string text =
      Unpack(traced.graph.text.data, traced.graph.text.raw_bytes);
  EXPECT_THAT(text, HasSubstr("mode=training"));
  EXPECT_THAT(text, HasSubstr("optimizer=\"adam\""));
}

TEST(PointTracer, TracesUnderARun) {
  PointTracer tracer(MakeSetup());
  Point point = PointOf("resnet18.onnx", 1);
  point.inputs = "image=f32[8,3,64,64]";
  const TracedPoint traced = tracer.Trace(point, R"({"autocast":"true"})");
  EXPECT_EQ(traced.point.inputs, point.inputs);
  const std::string text =
      Unpack(traced.graph.text.data, traced.graph.text.raw_bytes);
  EXPECT_THAT(text, HasSubstr("precision=fp32 autocast=f16 batch=8"));
  EXPECT_THAT(text, HasSubstr("autocast=true} : f16[8,3,64,64]"));
}

TEST(TracedRun, SaysHowAPointIsTraced) {
  Point point = PointOf("resnet18.onnx", 1);
  point.precision = Precision::kFp16;
  const foretell::Run plain = TracedRun(point, "");
  EXPECT_EQ(plain.precision, Precision::kFp16);
  EXPECT_FALSE(plain.autocast);
  EXPECT_EQ(plain.torch, TorchVersion{});
  const foretell::Run cast = TracedRun(
      point, R"({"autocast":"true","group_norm":"half","torch":"1.13"})");
  EXPECT_EQ(AutocastType(cast), DType::kF16);
  EXPECT_EQ(UncastPrecision(cast), Precision::kFp32);
  EXPECT_TRUE(cast.half_group_norm);
  EXPECT_FALSE(cast.half_layer_norm);
  EXPECT_EQ(cast.torch.Generation(), TorchGeneration::kNoFusedAttention);
  point.precision = Precision::kTf32;
  EXPECT_EQ(TracedRun(point, R"({"autocast":"true"})").precision,
            Precision::kTf32);
  EXPECT_TRUE(TracedRun(point, R"({"grad_mode":"true"})").grad_mode);
  EXPECT_TRUE(
      TracedRun(point, R"({"memory_format":"channels_last"})").channels_last);
  EXPECT_FALSE(plain.channels_last);
}

TEST(PointTracer, PassesErrorsOn) {
  PointTracer tracer(MakeSetup());
  ExpectError(ErrorCode::kNotFound, "missing.onnx",
              [&] { tracer.Trace(PointOf("missing.onnx", 1)); });
}

TEST(ReadInputTable, GivesSizesWithoutTheBatch) {
  const Scratch scratch;
  const std::string path = scratch / "truth.csv";
  std::ofstream(path) << "model,input,status\na,3x224x192,ok\nb,,missing\n";
  const auto inputs = ReadInputTable(path);
  ASSERT_EQ(inputs.size(), 1U);
  const TensorType expected{DType::kF32, {1, 3, 224, 192}};
  EXPECT_EQ(inputs.at("a").at(0).type, expected);
}

TEST(ReadInputTable, NamesABadCell) {
  const Scratch scratch;
  const std::string path = scratch / "truth.csv";
  for (const char* sizes : {"3x", "x3", "3x0", "3,4", "three"}) {
    std::ofstream(path) << "model,input\na,\"" << sizes << "\"\n";
    ExpectError(ErrorCode::kCorrupt, std::string("line 2: input '") + sizes,
                [&] { ReadInputTable(path); });
  }
}

}  // namespace
}  // namespace foretell::dataset
