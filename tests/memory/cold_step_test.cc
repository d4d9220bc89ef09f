#include "src/memory/cold_step.h"

#include <gtest/gtest.h>

#include "foretell/graph_io.h"

namespace foretell::memory {
namespace {

constexpr std::int64_t kMi = 1024 * 1024;

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
  EXPECT_EQ(step.allocated, 4 * 16 * kMi);
  EXPECT_EQ(step.reserved, 4 * 16 * kMi);
}

TEST(ColdStep, KeepsTheWorkspacesThatAreAskedFor) {
  MemoryOptions options;
  options.device.cublas_workspace_bytes = 8 * kMi;
  const ColdStep step = ReplayColdStep(ParseGraph(kStep), options);
  EXPECT_EQ(step.allocated, (4 * 16 + 8) * kMi);
}

TEST(ColdStep, IgnoresTheLimit) {
  MemoryOptions options = WithoutWorkspaces();
  options.allocator.device_limit_bytes = kMi;
  EXPECT_EQ(ReplayColdStep(ParseGraph(kStep), options).allocated, 4 * 16 * kMi);
}

}  // namespace
}  // namespace foretell::memory
