#include "src/memory/loop_schedule.h"

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
std::string Events(const PassSequence& passes) {
  std::string words;
  for (const ScheduledEvent& event : MakeSchedule(passes, Options())) {
    words += event.IsBirth() ? " +" : " -";
    std::string name = "cublas";
    for (const Value& value : event.graph->values()) {
      if (value.storage == event.storage) name = value.name;
    }
    const bool stands =
        event.pass == 0 && event.node == kNone && event.IsBirth();
    words += name;
    if (event.pass < FirstCounted(passes) && !stands) words += "*";
  }
  return words;
}

std::string Events(const std::string& text) { return Events(ParseGraph(text)); }

TEST(LoopSchedule, TakesTheFirstStepWithItsWorkspacesBeforeTheGraphsOwn) {
  EXPECT_EQ(Events(kTraining),
            " +x +w +cublas* +y* +cublas* +g* +m* +t* -t* -g* +y -y +g +t -t");
}

TEST(LoopSchedule, RecordsAllButTheOptimizerAndReplaysWithoutMemory) {
  std::string text = kTraining;
  text.replace(text.find(" optimizer="), 1,
               " runtime=\"compile,reduce-overhead\" ");
  const OperatorGraph graph = ParseGraph(text);
  std::string recorded;
  for (const ScheduledEvent& event : MakeSchedule(graph, Options())) {
    if (event.node == kNone || !event.IsBirth()) continue;
    const bool is_pool = event.allocation.stream == Stream::kRecord;
    EXPECT_EQ(is_pool, graph.node(event.node).phase != Phase::kOptimizer);
    if (!is_pool) continue;
    EXPECT_EQ(event.allocation.bytes > 0, event.pass == 0);
    recorded += event.storage == kNone ? " cublas" : " tensor";
  }
  EXPECT_EQ(recorded,
            " cublas tensor cublas tensor cublas tensor cublas tensor");
}

TEST(LoopSchedule, OfInferenceLeavesItsWorkspaceAndNoResult) {
  EXPECT_EQ(
      Events("graph \"i\"\n%x = input f32[4,4]\n%y = relu(%x) : f32[4,4]\n"
             "%z = mm(%y, %x) : f32[4,4]\noutput %z\n"),
      " +x +y* +cublas* +z* -y* -z* +y +z -y");
}

TEST(LoopSchedule, OfALoopThatKeepsItsResultLeavesItToTheNextPass) {
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
TEST(LoopSchedule, OfInferenceCountsCublasWhereItComesLast) {
  const MemoryBreakdown memory =
      SimulateMemory(ParseGraph("graph \"i\"\n%x = input f32[2048,2048]\n"
                                "%y = relu(%x) : f32[2048,2048]\n"
                                "%s = sum(%y) : f32[1,1]\n"
                                "%z = mm(%s, %s) : f32[1,1]\noutput %z\n"),
                     Options());
  EXPECT_EQ(memory.allocated_peak, (16 + 16 + 8) * kMiB + 512);
}

TEST(LoopSchedule, LetsTheStatesFindPlaceInWhatItsStepFreed) {
  // %y, %g and %t of 16 MiB take the segments of the first step again; the
  // state found none of them free.
  const MemoryBreakdown memory =
      SimulateMemory(ParseGraph(kTraining), Options());
  EXPECT_EQ(memory.allocated_peak, (6 * 16 + 2 * 8) * kMiB);
  EXPECT_EQ(memory.reserved_peak, (6 * 16 + 20) * kMiB);
  EXPECT_EQ(memory.AtPeak(TensorRole::kOptimizerState), 16 * kMiB);
}

TEST(LoopSchedule, NamesTheOperatorThatFindsNoRoomInIt) {
  MemoryOptions options = Options();
  options.allocator.device_limit_bytes = (4 * 16 + 20) * kMiB - 1;
  const MemoryBreakdown memory = SimulateMemory(ParseGraph(kTraining), options);
  ASSERT_TRUE(memory.shortage);
  EXPECT_EQ(memory.shortage->node, 1);
}

/// A product of `rows` rows of 4 MiB with a parameter of 4 MiB.
OperatorGraph OfRows(int rows) {
  const std::string n = std::to_string(rows);
  const std::string type = "f32[" + n + ",1024,1024]";
  return ParseGraph("graph \"g\"\n%x" + n + " = input " + type +
                    "\n%w = parameter f32[1,1024,1024]\n%y" + n + " = mul(%x" +
                    n + ", %w) : " + type + "\noutput %y" + n + "\n");
}

TEST(PassSequence, ReplacesInputsAndResultsOfAnotherLength) {
  const OperatorGraph wide = OfRows(8);
  const OperatorGraph narrow = OfRows(4);
  const std::string to_narrow = " -y8* -x8* +x4* +y4*";
  const std::string to_wide = " -y4* -x4* +x8* +y8*";
  EXPECT_EQ(Events(PassSequence({{&wide}, {&narrow}})),
            " +x8 +w +y8*" + to_narrow + to_wide + to_narrow + to_wide +
                to_narrow + " -y4* -x4 +x8 +y8 -y8 -x8 +x4 +y4");
}

TEST(PassSequence, KeepsSegmentsThatServeNoLongerLength) {
  const OperatorGraph longer = OfRows(10);
  const OperatorGraph shorter = OfRows(8);
  // The parameter has a segment of 20 MiB, every other tensor one of its own.
  const MemoryBreakdown alone = SimulateMemory(longer, Options());
  EXPECT_EQ(alone.reserved_peak, (20 + 2 * 40) * kMiB);
  const MemoryBreakdown grows =
      SimulateMemory(PassSequence({{&shorter}, {&longer}}), Options());
  EXPECT_EQ(grows.reserved_peak, (20 + 2 * 40 + 2 * 32) * kMiB);
  EXPECT_EQ(grows.allocated_peak, (4 + 2 * 40) * kMiB);
  EXPECT_EQ(grows.allocated_peak, alone.allocated_peak);
  EXPECT_EQ(grows.peak_pass, 1u);
  ASSERT_EQ(grows.passes.size(), 2u);
  EXPECT_EQ(grows.passes[0].allocated_peak, (4 + 2 * 32) * kMiB);
  // The longer one first leaves room for the shorter.
  const MemoryBreakdown shrinks =
      SimulateMemory(PassSequence({{&longer}, {&shorter}}), Options());
  EXPECT_EQ(shrinks.reserved_peak, alone.reserved_peak);
  EXPECT_EQ(shrinks.timeline.size(), 1u);
}

TEST(PassSequence, RunsInLessByGivingSegmentsBack) {
  const OperatorGraph longer = OfRows(10);
  const OperatorGraph shorter = OfRows(8);
  const PassSequence passes({{&shorter}, {&longer}});
  EXPECT_EQ(LeastMemory(passes, Options(), SimulateMemory(passes, Options())),
            LeastMemory(longer, Options(), SimulateMemory(longer, Options())));
}

TEST(PassSequence, OfEqualPassesIsOnePass) {
  for (const OperatorGraph& graph : {ParseGraph(kTraining), OfRows(8)}) {
    const MemoryBreakdown alone = SimulateMemory(graph, Options());
    const MemoryBreakdown run =
        SimulateMemory(PassSequence({{&graph}, {&graph}}), Options());
    EXPECT_EQ(run.total, alone.total);
    EXPECT_EQ(run.total_high, alone.total_high);
    EXPECT_EQ(run.allocated_peak, alone.allocated_peak);
    EXPECT_EQ(run.at_peak_by_role, alone.at_peak_by_role);
    EXPECT_EQ(run.peak_node, alone.peak_node);
  }
}

TEST(PassSequence, HoldsTheWeightsOfAllNetworks) {
  const OperatorGraph graph = OfRows(8);
  const MemoryBreakdown two =
      SimulateMemory(PassSequence({{&graph, 0}, {&graph, 1}}), Options());
  EXPECT_EQ(two.AtPeak(TensorRole::kParameter), 2 * 4 * kMiB);
  // Inputs stay, and the result of the one pass during the other.
  EXPECT_EQ(two.allocated_peak, 2 * (4 + 32 + 32) * kMiB);
}

TEST(PassSequence, TakesTheWeightsOfTheLargestGraphOfANetwork) {
  const OperatorGraph small = OfRows(4);
  const OperatorGraph large = ParseGraph(
      "graph \"g\"\n%x = input f32[1]\n%w = parameter f32[2,1024,1024]\n"
      "%y = add(%x, %x) : f32[1]\noutput %y\n");
  const MemoryBreakdown memory =
      SimulateMemory(PassSequence({{&small}, {&large}}), Options());
  EXPECT_EQ(memory.AtPeak(TensorRole::kParameter), 8 * kMiB);
  EXPECT_EQ(memory.allocated_peak, (8 + 2 * 16) * kMiB);
}

// Gradients, results and states of the step live on; 64 MiB each for %ex, %e.
TEST(PassSequence, EvaluatesBetweenTheSteps) {
  const OperatorGraph step = ParseGraph(kTraining);
  const OperatorGraph evaluation = ParseGraph(
      "graph \"g\"\n%ex = input f32[8192,2048]\n"
      "%w = parameter f32[2048,2048]\n"
      "%e = mm(%ex, %w) : f32[8192,2048]\noutput %e\n");
  const PassSequence passes({{&step}, {&evaluation}});
  const std::string again =
      " +ex* +e* -e* -ex* -g* +y* -y* +g* +t* -t* +ex* +e* -e* -ex* -g*";
  EXPECT_EQ(Events(passes), " +x +w +cublas* +y* +cublas* +g* +m* +t* -t*" +
                                again +
                                " +y* -y* +g* +t* -t* +ex* +e* -e* -ex* -g*"
                                " +y -y +g +t -t +ex +e -e -ex");
  const MemoryBreakdown memory = SimulateMemory(passes, Options());
  EXPECT_EQ(memory.allocated_peak, (5 * 16 + 2 * 8 + 2 * 64) * kMiB);
  EXPECT_EQ(memory.peak_pass, 1u);
  EXPECT_EQ(memory.peak_node, 0);
  EXPECT_EQ(memory.AtPeak(TensorRole::kGradient), 16 * kMiB);
}

}  // namespace
}  // namespace foretell::memory
