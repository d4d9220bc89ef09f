#include "src/memory/cold_step.h"

#include <gtest/gtest.h>

#include "foretell/graph_io.h"
#include "src/core/units.h"

namespace foretell::memory {
namespace {

MemoryOptions WithoutWorkspaces() {
  MemoryOptions options;
  options.with_workspaces = false;
  return options;
}

// Every tensor has 16 MiB.
constexpr char kStep[] = R"(graph "g" mode=training optimizer="momentum"
%x = input f32[2048,2048]
%w = parameter f32[2048,2048]
%m = optimizer_state f32[2048,2048]
%y = mm(%x, %w) : f32[2048,2048]
phase backward
%g = mm(%x, %y) : f32[2048,2048] gradient
phase optimizer
%t = mul(%m, %g) : f32[2048,2048] optimizer_temporary
timeline
scratch old activation bytes=268435456
scratch older_gradient gradient bytes=16777216
start: +%x +%w +%m +old -old +older_gradient
0: +%y -older_gradient
1: +%g
2: +%t -%t -%y
)";

TEST(ColdStep, HasNeitherOptimizerNorWhatAStepLeftBehind) {
  const ColdStep step = ReplayColdStep(ParseGraph(kStep), WithoutWorkspaces());
  EXPECT_EQ(step.allocated, 4 * 16 * kMiB);
  EXPECT_EQ(step.reserved, 4 * 16 * kMiB);
}

TEST(ColdStep, KeepsTheWorkspacesThatAreAskedFor) {
  MemoryOptions options;
  options.device.cublas_workspace_bytes = 8 * kMiB;
  const ColdStep step = ReplayColdStep(ParseGraph(kStep), options);
  EXPECT_EQ(step.allocated, (4 * 16 + 2 * 8) * kMiB);
}

TEST(ColdStep, FitsWithinItsLimitOrSaysThatItDoesNot) {
  MemoryOptions options = WithoutWorkspaces();
  options.allocator.device_limit_bytes = 4 * 16 * kMiB;
  EXPECT_TRUE(ReplayColdStep(ParseGraph(kStep), options).fits);
  options.allocator.device_limit_bytes -= 1;
  EXPECT_FALSE(ReplayColdStep(ParseGraph(kStep), options).fits);
}

TEST(ColdStep, RunsWithoutWorkspacesThatDoNotFit) {
  // Input and result have 32 MiB each, the convolution's workspace is half of
  // both.
  const OperatorGraph graph = ParseGraph(R"(graph "c"
%x = input f32[8,64,128,128]
%w = parameter f32[64,64,3,3]
%y = conv2d(%x, %w) {padding=[1,1]} : f32[8,64,128,128]
output %y
)");
  MemoryOptions options;
  options.device.peak_tflops = {{Precision::kFp32, 20},
                                {Precision::kTf32, 156}};
  const std::int64_t weight = 64 * 64 * 9 * 4;
  const std::int64_t bare = 64 * kMiB + weight;
  EXPECT_EQ(ReplayColdStep(graph, options).allocated, bare + bare / 2);
  options.allocator.device_limit_bytes = 70 * kMiB;
  const ColdStep limited = ReplayColdStep(graph, options);
  EXPECT_TRUE(limited.fits);
  EXPECT_EQ(limited.allocated, bare);
}

}  // namespace
}  // namespace foretell::memory
