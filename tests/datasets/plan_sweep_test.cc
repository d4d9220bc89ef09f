#include "datasets/collect/plan_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "expect_error.h"
#include "foretell/zoo.h"
#include "scratch.h"

namespace foretell::dataset {
namespace {

using dataset_test::ExpectError;
using dataset_test::Scratch;

TEST(PlanSweep, HasThePointsOfTheZoo) {
  const std::vector<zoo::SweepPoint> swept = zoo::ListSweep("mlp");
  const std::vector<Point> points =
      PlanSweep("mlp", {.batches = {}, .dims = {}});
  ASSERT_EQ(points.size(), swept.size());
  EXPECT_EQ(points[0].model, swept[0].model);
  EXPECT_EQ(points[0].batch, swept[0].batch);
  EXPECT_EQ(points[0].format, "zoo");
  EXPECT_EQ(points[0].path, "");
}

TEST(PlanSweep, TakesGivenBatchesOnceForEachModel) {
  std::set<std::string> models;
  for (const zoo::SweepPoint& swept : zoo::ListSweep("mlp")) {
    models.insert(swept.model);
  }
  const std::vector<Point> points =
      PlanSweep("mlp", {.batches = {3, 5},
                        .mode = Mode::kTraining,
                        .precision = Precision::kFp16,
                        .optimizer = "adam",
                        .dims = {}});
  EXPECT_EQ(points.size(), 2 * models.size());
  EXPECT_EQ(points[0].batch, 3);
  EXPECT_EQ(points[1].batch, 5);
  EXPECT_EQ(points[1].optimizer, "adam");
  EXPECT_EQ(points[1].mode, Mode::kTraining);
  EXPECT_EQ(points[1].precision, Precision::kFp16);
}

TEST(PlanAll, PointsFromNamesOfTheZooToSweeps) {
  ExpectError(
      ErrorCode::kInvalidArgument,
      "zoo:resnet18: is not a file; select zoo networks with --sweep", [] {
        PlanAll({.sweep = {}, .paths = {"zoo:resnet18"}, .batches_from = {}},
                {.batches = {}, .dims = {}});
      });
}

TEST(PlanAll, PutsFilesBehindTheSweepAtBatchOne) {
  const Scratch scratch;
  std::ofstream(scratch / "net.onnx") << "x";
  const std::size_t swept =
      PlanSweep("mlp", {.batches = {}, .dims = {}}).size();
  const std::vector<Point> points = PlanAll(
      {.sweep = "mlp", .paths = {scratch / "net.onnx"}, .batches_from = {}},
      {.batches = {}, .dims = {}});
  ASSERT_EQ(points.size(), swept + 1);
  EXPECT_EQ(points.back().path, scratch / "net.onnx");
  EXPECT_EQ(points.back().batch, 1);
}

TEST(PlanAll, TakesTheBatchesOfATable) {
  const Scratch scratch;
  std::ofstream(scratch / "net.onnx") << "x";
  std::ofstream(scratch / "b.csv") << "model,batch\nnet,4\nnet,16\nother,2\n";
  const std::vector<Point> points = PlanAll({.sweep = {},
                                             .paths = {scratch / "net.onnx"},
                                             .batches_from = scratch / "b.csv"},
                                            {.batches = {}, .dims = {}});
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].batch, 4);
  EXPECT_EQ(points[1].batch, 16);
}

TEST(PlanAll, RefusesToPlanNothing) {
  ExpectError(ErrorCode::kInvalidArgument, "nothing to trace",
              [] { PlanAll({}, {.dims = {}}); });
}

TEST(ModelNameOf, IsTheFileOrTheNameInTheZoo) {
  Point point;
  point.model = "resnet18";
  EXPECT_EQ(ModelNameOf(point), "zoo:resnet18");
  point.path = "models/resnet18.onnx";
  EXPECT_EQ(ModelNameOf(point), "models/resnet18.onnx");
}

}  // namespace
}  // namespace foretell::dataset
