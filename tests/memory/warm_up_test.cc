#include "src/memory/warm_up.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "foretell/memory.h"
#include "src/core/units.h"
#include "src/memory/schedule.h"

namespace foretell::memory {
namespace {

// Tensors of 16 MiB. What the trace recorded of the first step, "old", knows
// nothing of workspaces.
constexpr char kTraining[] = R"(graph "g" mode=training optimizer="momentum"
%x = input f32[2048,2048]
%w = parameter f32[2048,2048]
%m = optimizer_state f32[2048,2048]
%y = mm(%x, %w) : f32[2048,2048]
phase backward
%g = mm(%x, %y) : f32[2048,2048] gradient
phase optimizer
%t = mul(%m, %g) : f32[2048,2048] optimizer_temporary
output %y
timeline
scratch old activation bytes=16777216
scratch old_gradient gradient bytes=16777216
start: +%x +%w +old +old_gradient +%m -old_gradient
0: +%y -old
1: +%g
2: +%t -%t
)";

MemoryOptions Options() {
  MemoryOptions options;
  options.device.cublas_workspace_bytes = 8 * kMiB;
  options.context.context_mib = {{"*", 100}};
  return options;
}

/// Births and deaths of the schedule, in words: "+y*" is y's birth in the
/// warm-up.
std::string Events(const std::string& text) {
  const OperatorGraph graph = ParseGraph(text);
  std::string words;
  for (const ScheduledEvent& event : MakeSchedule(graph, Options())) {
    const bool born = event.allocation.kind == AllocationEvent::Kind::kAllocate;
    words += born ? " +" : " -";
    std::string name = "cublas";
    for (const Value& value : graph.values()) {
      if (value.storage == event.storage) name = value.name;
    }
    words += name + (event.warms_up ? "*" : "");
  }
  return words;
}

TEST(WarmUp, TakesTheFirstStepWithItsWorkspacesBeforeTheGraphsOwn) {
  EXPECT_EQ(Events(kTraining),
            " +x +w +cublas* +y* +cublas* +g* +m* +t* -t* -g* +y -y +g +t -t");
}

TEST(WarmUp, OfInferenceLeavesItsWorkspaceAndNoResult) {
  EXPECT_EQ(
      Events("graph \"i\"\n%x = input f32[4,4]\n%y = relu(%x) : f32[4,4]\n"
             "%z = mm(%y, %x) : f32[4,4]\noutput %z\n"),
      " +x +y* +cublas* +z* -y* -z* +y +z -y");
}

TEST(WarmUp, OfALoopThatKeepsItsResultLeavesItToTheNextPass) {
  EXPECT_EQ(Events(R"(graph "i"
%x = input f32[4,4]
%y = relu(%x) : f32[4,4]
%z = mm(%y, %x) : f32[4,4]
output %z
timeline
scratch old saved bytes=64
start: +%x +old
0: +%y
1: +%z -%y -old
)"),
            " +x +y* +cublas* +z* -y* +y +z -y -z");
}

// The peak is that of the first operator, which comes before any product.
TEST(WarmUp, OfInferenceCountsCublasWhereItComesLast) {
  const MemoryBreakdown memory =
      SimulateMemory(ParseGraph("graph \"i\"\n%x = input f32[2048,2048]\n"
                                "%y = relu(%x) : f32[2048,2048]\n"
                                "%s = sum(%y) : f32[1,1]\n"
                                "%z = mm(%s, %s) : f32[1,1]\noutput %z\n"),
                     Options());
  EXPECT_EQ(memory.allocated_peak, (16 + 16 + 8) * kMiB + 512);
}

TEST(WarmUp, LetsTheStatesFindPlaceInWhatItsStepFreed) {
  // %y, %g and %t of 16 MiB take the segments of the first step again; the
  // state found none of them free.
  const MemoryBreakdown memory =
      SimulateMemory(ParseGraph(kTraining), Options());
  EXPECT_EQ(memory.allocated_peak, (6 * 16 + 2 * 8) * kMiB);
  EXPECT_EQ(memory.reserved_peak, (6 * 16 + 20) * kMiB);
  EXPECT_EQ(memory.AtPeak(TensorRole::kOptimizerState), 16 * kMiB);
}

TEST(WarmUp, NamesTheOperatorThatFindsNoRoomInIt) {
  MemoryOptions options = Options();
  options.allocator.device_limit_bytes = (4 * 16 + 20) * kMiB - 1;
  const MemoryBreakdown memory = SimulateMemory(ParseGraph(kTraining), options);
  ASSERT_TRUE(memory.shortage);
  EXPECT_EQ(memory.shortage->node, 1);
}

}  // namespace
}  // namespace foretell::memory
