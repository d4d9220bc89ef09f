#include "src/pictures/kernel_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/pictures/module_names.h"
#include "tests/pictures/toy_step.h"

namespace foretell::pictures {
namespace {

/// What all kernels take.
double Microseconds(const OperatorGraph& graph, const Prediction& prediction) {
  double us = 0;
  for (const KernelPoint& point :
       KernelPoints(graph, ToyDevice(), prediction)) {
    us += point.us * point.count;
  }
  return us;
}

TEST(KernelPoints, TakeTheTimeOfTheStepTogether) {
  const OperatorGraph graph = ToyGraph();
  const Prediction prediction = PredictToy(graph);
  const double us = Microseconds(graph, prediction);
  EXPECT_NEAR(us, prediction.cost.gpu_ms * 1e3, 1e-6 * us);
}

TEST(KernelPoints, SlowDownUnderAPowerLimit) {
  const OperatorGraph graph = ToyGraph();
  const foretell::Run run = {.power_limit_w = 100};
  const Prediction prediction =
      Predictor::Analytic(ToyDevice(), run).Predict(graph);
  const double us = Microseconds(graph, prediction);
  EXPECT_NEAR(us, prediction.cost.gpu_ms * 1e3, 1e-6 * us);
}

TEST(KernelPoints, CountOperationsAndBytes) {
  const OperatorGraph graph = ToyGraph();
  const std::vector<KernelPoint> points =
      KernelPoints(graph, ToyDevice(), PredictToy(graph));
  const KernelPoint* conv = nullptr;
  const KernelPoint* relu = nullptr;
  for (const KernelPoint& point : points) {
    if (point.kernel.macs > 0) conv = &point;
    if (point.kernel.kernel_class == cost::KernelClass::kRelu) relu = &point;
  }
  ASSERT_NE(conv, nullptr);
  ASSERT_NE(relu, nullptr);
  EXPECT_EQ(conv->operations, 2.0 * static_cast<double>(graph.node(0).macs));
  EXPECT_EQ(relu->operations, kMapBytes / 4);
  EXPECT_EQ(relu->bytes, 2 * kMapBytes);
}

TEST(KernelPoints, PutEqualWorkTogether) {
  const OperatorGraph graph = ParseGraph(R"(graph "twice"
%x = input f32[8,64,56,56]
%a = relu(%x) : f32[8,64,56,56]
%b = relu(%a) : f32[8,64,56,56]
output %b
)");
  const std::vector<KernelPoint> points =
      KernelPoints(graph, ToyDevice(), PredictToy(graph));
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].count, 2);
}

TEST(KernelsToJson, AddsUpWhatItLeavesOut) {
  const OperatorGraph graph = ToyGraph();
  const std::vector<KernelPoint> points =
      KernelPoints(graph, ToyDevice(), PredictToy(graph));
  ASSERT_GT(points.size(), 2U);
  const auto json =
      KernelsToJson(graph, points, ModulesOfNodes(graph), /*most=*/1);
  EXPECT_EQ(json["shown"]["us"].size(), 1U);
  EXPECT_EQ(json["rest"]["kernels"], points.size() - 1);
  double rest = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    rest += points[i].us * points[i].count;
  }
  EXPECT_DOUBLE_EQ(json["rest"]["us"].get<double>(), rest);
}

}  // namespace
}  // namespace foretell::pictures
