#include "src/answer/least_figures.h"

#include <gtest/gtest.h>

#include <string>

#include "foretell/graph_io.h"
#include "src/core/units.h"
#include "tests/cost/test_device.h"

namespace foretell {
namespace {

/// Of one operator on the device with round numbers, with 100 MiB of context.
double LeastOf(const std::string& text, Target target) {
  const OperatorGraph graph = ParseGraph(text);
  const MemoryOptions options = {
      .device = test::RoundDevice(),
      .context = {.name = "test", .context_mib = {{"*", 100}}}};
  const MemoryBreakdown memory = SimulateMemory(graph, options);
  const cost::LaunchedStep step = cost::LaunchStep(graph, {});
  return LeastFigures(graph, step, options, memory).Of(target);
}

constexpr char kWide[] = R"(graph "wide" batch=1
%x = input f32[1,8192]
%y = linear(%x, weight f32[8192,8192]) : f32[1,8192]
output %y
)";

TEST(LeastFigures, ReadsWeightsThatTheCacheCannotHold) {
  // 256 MiB of weights, of which 40 may stay in L2, at 10^12 bytes per second.
  const double ms = 216 * 1048576.0 / 1e9;
  EXPECT_NEAR(LeastOf(kWide, Target::kLatency), ms, 1e-9);
  // The idle board draws 50 W.
  EXPECT_NEAR(LeastOf(kWide, Target::kEnergy), 50 * ms / 1000, 1e-9);
}

TEST(LeastFigures, HoldsWeightsInputsAndContext) {
  const double least = LeastOf(kWide, Target::kMemory);
  EXPECT_GE(least, 100 + 256);
  EXPECT_LT(least, 100 + 256 + 30);
}

TEST(LeastFigures, MultipliesAtTheHighestRate) {
  // 2 x 4096^3 FLOP at 10^13 a second.
  EXPECT_NEAR(LeastOf(R"(graph "square" batch=4096
%x = input f32[4096,4096]
%y = linear(%x, weight f32[4096,4096]) : f32[4096,4096]
output %y
)",
                      Target::kLatency),
              2 * 4096.0 * 4096 * 4096 / 1e13 * 1e3, 1e-9);
}

TEST(LeastFigures, LeavesAQuarterOfAConvolutionToWinograd) {
  const double macs = 64.0 * 64 * 56 * 56 * 64 * 9;
  const double ms = LeastOf(R"(graph "conv" batch=64
%x = input f32[64,64,56,56]
%y = conv2d(%x, weight f32[64,64,3,3]) {stride=[1,1], padding=[1,1]} : f32[64,64,56,56]
output %y
)",
                            Target::kLatency);
  // In FP32 convolutions may run in TF32, at 10^14 FLOP a second.
  EXPECT_GE(ms, 2 * macs / 4 / 1e14 * 1e3 * 0.999);
  EXPECT_LE(ms, 2 * macs / 4 / 1e13 * 1e3 * 1.001);
}

TEST(LeastFigures, IsNothingForAnEmptyStep) {
  EXPECT_EQ(LeastOf("graph \"empty\"\n", Target::kLatency), 0);
  EXPECT_EQ(LeastOf("graph \"empty\"\n", Target::kEnergy), 0);
}

}  // namespace
}  // namespace foretell
