#include "src/cost/kernel_launches.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "foretell/cost.h"
#include "foretell/graph_io.h"
#include "src/cost/launched_step.h"
#include "tests/cost/test_device.h"

namespace foretell::cost {
namespace {

CostEstimate EstimateText(const std::string& body,
                          const CostOptions& options = {}) {
  return EstimateCost(ParseGraph("graph \"g\"\n" + body), test::RoundDevice(),
                      options);
}

TEST(KernelLaunches, TakeTurnsWhereTheyAreLaunchedEquallyOften) {
  const std::vector<Kernel> kernels = {{}, {.count = 3}, {.count = 3}};
  const std::vector<double> gpu_us = {10, 2, 4};
  const KernelDispatch further = {.other_us = 5, .repeat_us = 3};
  EXPECT_EQ(further.Us(kernels), 5 + 2 * 3 + 5 + 2 * 3);
  const std::vector<std::pair<double, double>> expected = {
      {20, 28}, {25, 18}, {30, 16}, {33, 12}, {36, 10}, {39, 6}, {42, 4}};
  std::vector<std::pair<double, double>> found;
  for (const KernelLaunch& launch : LaunchesOf(kernels, gpu_us, 20, further)) {
    found.emplace_back(launch.queued_us, launch.left_us);
  }
  EXPECT_EQ(found, expected);
}

TEST(KernelLaunches, OfManyRoundsAreTheFirstTwoAndTheLast) {
  const std::vector<Kernel> kernels = {{.count = 100}};
  const std::vector<KernelLaunch> launches =
      LaunchesOf(kernels, std::vector<double>{2}, 20, {5, 3});
  ASSERT_EQ(launches.size(), 3U);
  EXPECT_EQ(launches[1].queued_us, 23);
  EXPECT_EQ(launches[1].left_us, 198);
  EXPECT_EQ(launches[2].queued_us, 20 + 99 * 3);
  EXPECT_EQ(launches[2].left_us, 2);
}

TEST(KernelLaunches, OfOneKernelAreNotListed) {
  EXPECT_TRUE(
      LaunchesOf(std::vector<Kernel>{{}}, std::vector<double>{2}, 20, {5, 3})
          .empty());
}

/// A convolution and its bias, which a second kernel adds.
std::string Biased(const std::string& images) {
  return "%x = input f32[" + images +
         ",64,56,56]\n%y = conv2d(%x, weight "
         "f32[64,64,3,3], weight f32[64]) {padding=[1,1]} : f32[" +
         images + ",64,56,56]\n";
}

TEST(KernelLaunches, LetTheGpuBeginAfterTheFirst) {
  const CostEstimate cost = EstimateText(Biased("64"));
  EXPECT_DOUBLE_EQ(cost.nodes[0].dispatch_us, 20 + 4);
  EXPECT_NEAR(cost.latency_ms * 1e3, 20 + cost.nodes[0].gpu_us, 1e-6);
}

TEST(KernelLaunches, LetTheGpuWaitForTheLast) {
  const CostEstimate cost = EstimateText(
      "%x = input f32[1,4,2,2]\n%y = conv2d(%x, weight "
      "f32[4,4,1,1], weight f32[4]) : f32[1,4,2,2]\n",
      {.host_factor = 10});
  EXPECT_DOUBLE_EQ(cost.nodes[0].dispatch_us, 240);
  // Both launches take 3 us and more, long before the second is queued.
  EXPECT_LT(cost.nodes[0].gpu_us, 15);
  EXPECT_NEAR(cost.latency_ms * 1e3,
              240 + cost.nodes[0].launches.back().left_us, 1e-6);
}

/// Calls of `layers` layers as cuDNN runs them.
std::string LayerCalls(const std::string& from, int gates, int layers) {
  const std::string rows = std::to_string(256 * gates);
  std::string text;
  for (int i = 0; i < layers; ++i) {
    const auto name = [&](const std::string& what) {
      return "%" + what + from + "_" + std::to_string(i);
    };
    text += "| " + name("g") + " = linear(%y" + from + ", %w) : f32[100,64," +
            rows + "]\n| " + name("s") + " = inner f32[64,256]\n| " +
            name("p") + " = linear(" + name("s") +
            ", %w) {times=100} : " + "f32[64," + rows + "]\n| " + name("n") +
            " = _cell(" + name("p") + ") {times=100} : f32[64,256]\n";
  }
  return text;
}

/// Layers of 256 units over 100 steps of 64 rows: of one operator, or one each.
std::string Layers(const std::string& target, int gates, int layers,
                   bool as_one) {
  const std::string depth = std::to_string(as_one ? layers : 1);
  std::string text = "%y0 = input f32[100,64,256]\n%h = input f32[" + depth +
                     ",64,256]\n%w = parameter f32[" +
                     std::to_string(256 * gates) + ",256]\n";
  for (int i = 0; i < (as_one ? 1 : layers); ++i) {
    const std::string from = std::to_string(i);
    text += "%y" + std::to_string(i + 1) + " = " + target + "(%y" + from +
            ", %h, %w, %w) : f32[100,64,256]\n" +
            LayerCalls(from, gates, as_one ? layers : 1);
  }
  return text;
}

TEST(KernelLaunches, OfALayerMoreAreThoseOfAnotherOperator) {
  for (const auto& [target, gates] :
       {std::pair("lstm", 4), std::pair("gru", 3)}) {
    for (const Host host : {Host::kPython, Host::kCpp}) {
      CostOptions options;
      options.run.host = host;
      const CostEstimate one =
          EstimateText(Layers(target, gates, 2, true), options);
      const CostEstimate two =
          EstimateText(Layers(target, gates, 2, false), options);
      EXPECT_NEAR(one.gpu_ms, two.gpu_ms, 1e-9) << target;
      EXPECT_NEAR(one.latency_ms / two.latency_ms, 1, 0.05) << target;
      EXPECT_LT(one.latency_ms, one.gpu_ms + 0.5) << target;
    }
  }
}

TEST(KernelLaunches, SlowDownWithTheHost) {
  const OperatorGraph graph =
      ParseGraph("graph \"g\"\n" + Layers("lstm", 4, 2, true));
  const DeviceSpec device = test::RoundDevice();
  const CostEstimate once = EstimateCost(graph, device);
  const CostEstimate slow = EstimateCost(graph, device, {.host_factor = 10});
  EXPECT_GT(slow.latency_ms, 1.2 * once.latency_ms);
  EXPECT_NEAR(EstimateOnHost(once, device, {}, 1).latency_ms, once.latency_ms,
              1e-9);
  EXPECT_NEAR(EstimateOnHost(once, device, {}, 10).latency_ms, slow.latency_ms,
              1e-9);
}

}  // namespace
}  // namespace foretell::cost
