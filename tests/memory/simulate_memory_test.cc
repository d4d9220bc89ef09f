#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "foretell/memory.h"
#include "src/core/units.h"

namespace foretell {
namespace {

constexpr std::int64_t kCublas = 8'519'680;

MemoryOptions TestOptions(bool with_workspaces) {
  MemoryOptions options;
  options.device.name = "test";
  options.device.architecture = "ampere";
  options.device.peak_tflops = {{Precision::kFp32, 20},
                                {Precision::kTf32, 156}};
  options.device.cublas_workspace_bytes = kCublas;
  options.context.context_mib = {{"*", 100}};
  options.context.context_uncertainty_mib = 10;
  options.with_workspaces = with_workspaces;
  return options;
}

MemoryBreakdown SimulateText(const std::string& text,
                             bool with_workspaces = false) {
  return SimulateMemory(ParseGraph(text), TestOptions(with_workspaces));
}

// Bytes of the tensors: %x, %a and %b 6,422,528 each, %w 147,456.
constexpr std::int64_t kMap = 8 * 64 * 56 * 56 * 4;
constexpr std::int64_t kWeight = 64 * 64 * 3 * 3 * 4;
const char* const kConvRelu = R"(graph "toy" batch=8
%x = input f32[8,64,56,56]
%w = parameter f32[64,64,3,3]
%a = conv2d(%x, %w) {padding=[1,1]} : f32[8,64,56,56]
%b = relu(%a) : f32[8,64,56,56]
output %b
)";

TEST(SimulateMemory, AddsUpTheTensorsThatLiveTogether) {
  const MemoryBreakdown memory = SimulateText(kConvRelu);
  EXPECT_EQ(memory.allocated_peak, 3 * kMap + kWeight);
  EXPECT_EQ(memory.peak_node, 1);
  EXPECT_EQ(memory.AtPeak(TensorRole::kInput), kMap);
  EXPECT_EQ(memory.AtPeak(TensorRole::kParameter), kWeight);
  EXPECT_EQ(memory.ActivationsAtPeak(), 2 * kMap);
  EXPECT_EQ(memory.at_peak_rounding, 0);
  EXPECT_EQ(memory.workspace_peak, 0);
}

TEST(SimulateMemory, HoldsTheColumnsThatPyTorch29Unfolds) {
  constexpr std::int64_t kVolume = 2 * 64 * 64 * 64 * 8;
  constexpr std::int64_t kFilters = 2 * 8 * 8 * 27;
  const OperatorGraph graph = ParseGraph(R"(graph "volume" batch=1
%x = input f16[1,8,64,64,64]
%y = conv3d(%x, weight f16[8,8,3,3,3]) {padding=[1,1,1]} : f16[1,8,64,64,64]
output %y
)");
  MemoryOptions options = TestOptions(true);
  // The weight's 3,456 bytes fill seven blocks of 512.
  EXPECT_EQ(SimulateMemory(graph, options).allocated_peak,
            2 * kVolume + kFilters + 128 + 27 * kVolume + kCublas);
  options.torch = {2, 10, {}};
  EXPECT_LT(SimulateMemory(graph, options).allocated_peak, 5 * kVolume);
}

TEST(SimulateMemory, AddsTheContextToTheReservedSegments) {
  // One segment of 20 MiB holds the three maps, one of 2 MiB the weight.
  const MemoryBreakdown memory = SimulateText(kConvRelu);
  EXPECT_EQ(memory.reserved_peak, 22 * kMiB);
  EXPECT_EQ(memory.context, 100 * kMiB);
  EXPECT_EQ(memory.total, 122 * kMiB);
}

TEST(SimulateMemory, FollowsTheLiveBytesFromNodeToNode) {
  const MemoryBreakdown memory = SimulateText(kConvRelu);
  ASSERT_EQ(memory.timeline.size(), 2u);
  EXPECT_EQ(memory.timeline[0].peak_allocated, 2 * kMap + kWeight);
  EXPECT_EQ(memory.timeline[0].allocated_after, 2 * kMap + kWeight);
  EXPECT_EQ(memory.timeline[1].peak_allocated, 3 * kMap + kWeight);
  EXPECT_EQ(memory.timeline[1].allocated_after, 2 * kMap + kWeight);
  EXPECT_EQ(memory.timeline[1].reserved_after, 22 * kMiB);
}

TEST(SimulateMemory, CarriesTheStateThroughNodesWithoutEvents) {
  const MemoryBreakdown memory = SimulateText(R"(graph "view"
%x = input f32[1024]
%v = view(%x) {size=[32,32]} : f32[32,32] alias %x
output %v
)");
  ASSERT_EQ(memory.timeline.size(), 1u);
  EXPECT_EQ(memory.timeline[0].peak_allocated, 4096);
  EXPECT_EQ(memory.timeline[0].allocated_after, 4096);
  EXPECT_EQ(memory.timeline[0].reserved_after, 2 * kMiB);
}

TEST(SimulateMemory, HoldsTheConvolutionsWorkspaceWhileItRuns) {
  // Half of input, output and weight: 6,496,256 bytes, which the segment of
  // 20 MiB still holds beside two maps; the one of 2 MiB holds the weight.
  const MemoryBreakdown memory = SimulateText(kConvRelu, true);
  const std::int64_t workspace = (2 * kMap + kWeight) / 2;
  EXPECT_EQ(memory.workspace_peak, workspace);
  EXPECT_EQ(memory.at_peak_workspace, workspace);
  EXPECT_EQ(memory.peak_node, 0);
  EXPECT_EQ(memory.allocated_peak, 2 * kMap + kWeight + workspace);
  EXPECT_EQ(memory.reserved_peak, 22 * kMiB);
  EXPECT_EQ(memory.timeline[0].allocated_after, 2 * kMap + kWeight);
}

TEST(SimulateMemory, RunsTheTwoPassesOfABackwardConvolutionOneAfterTheOther) {
  // %d, %x and %dx have 4 MiB each, %w and %dw 9216 bytes. The first pass takes
  // half of 8 MiB + 9216, the second all of it; both never live together, and
  // %dw is there for the second one only.
  const MemoryBreakdown memory = SimulateText(R"(graph "backward"
%d = input f32[1,16,256,256]
%x = input f32[1,16,256,256]
%w = parameter f32[16,16,3,3]
%dx, %dw = convolution_backward(%d, %x, %w) {stride=[2,2], padding=[1,1], output_mask=[1,1,0]} : f32[1,16,256,256], f32[16,16,3,3]
output %dx
output %dw
)",
                                              true);
  const std::int64_t map = 4 * kMiB;
  const std::int64_t weight = 9216;
  EXPECT_EQ(memory.workspace_peak, 2 * map + weight);
  EXPECT_EQ(memory.allocated_peak, 3 * map + 2 * weight + 2 * map + weight);
}

TEST(SimulateMemory, AllocatesTheCublasWorkspaceOnceAndKeepsIt) {
  const MemoryBreakdown memory = SimulateText(R"(graph "mlp"
%x = input f32[128,1024]
%w = parameter f32[1024,1024]
%r = relu(%x) : f32[128,1024]
%a = linear(%r, %w) : f32[128,1024]
%b = linear(%a, %w) : f32[128,1024]
output %b
)",
                                              true);
  const std::int64_t rows = 128 * 1024 * 4;
  const std::int64_t weight = 1024 * 1024 * 4;
  EXPECT_EQ(memory.workspace_peak, kCublas);
  // The step before left it there.
  EXPECT_EQ(memory.timeline[0].allocated_after, weight + 2 * rows + kCublas);
  EXPECT_EQ(memory.timeline[1].allocated_after, weight + 2 * rows + kCublas);
  EXPECT_EQ(memory.timeline[2].allocated_after, weight + 2 * rows + kCublas);
}

/// A step whose backward pass multiplies, or only adds.
std::string TrainingStep(const std::string& backward) {
  return R"(graph "step" mode=training
%x = input f32[64,64]
%w = parameter f32[64,64]
%y = mm(%x, %w) : f32[64,64]
phase backward
%g = )" + backward +
         R"( : f32[64,64] gradient
phase optimizer
%s = mm(%w, %g) : f32[64,64] optimizer_temporary
)";
}

TEST(SimulateMemory, HoldsAWorkspaceOfCublasForEachThreadThatMultiplies) {
  EXPECT_EQ(SimulateText(TrainingStep("mm(%x, %y)"), true).workspace_peak,
            2 * kCublas);
  EXPECT_EQ(SimulateText(TrainingStep("add(%x, %y)"), true).workspace_peak,
            kCublas);
}

TEST(SimulateMemory, HoldsCublasWorkspaceForProductsInsideOfOperators) {
  const auto workspace = [](const std::string& body) {
    return SimulateText("graph \"g\"\n" + body, true).workspace_peak;
  };
  const std::string states = "%x = input f32[2,8]\n%h = input f32[2,8]\n";
  EXPECT_EQ(workspace(states + "%y = gru_cell(%x, %h, weight f32[24,8], weight "
                               "f32[24,8]) : f32[2,8]\n"),
            kCublas);
  EXPECT_EQ(workspace(states + "%y = einsum(%x, %h) {equation=\"ab,ab->ab\"} : "
                               "f32[2,8]\n| %y = mul(%x, %h)\n"),
            0);
  EXPECT_EQ(workspace("%x = input f32[7,2,8]\n%h = input f32[1,2,8]\n"
                      "%y, %n = gru(%x, %h, weight f32[24,8], weight "
                      "f32[24,8]) : f32[7,2,8], f32[1,2,8]\n"),
            0);
}

/// A shard of 12 MiB is gathered to 24, which die when they have been copied;
/// the copy and the result are 24 MiB each.
std::int64_t ReservedMibUnder(const std::string& plan) {
  return SimulateText(R"(graph "gathers" batch=1
%s = parameter f32[3145728]
%g = c10d::_allgather_base_(%s) {plan=")" +
                      plan + R"(",gpus=2,bytes=25165824} : f32[6291456]
%w = relu(%g) : f32[6291456]
%y = relu(%w) : f32[6291456]
output %y
)")
             .reserved_peak /
         kMiB;
}

TEST(SimulateMemory, GathersParametersOnAStreamOfItsOwn) {
  EXPECT_EQ(ReservedMibUnder("fsdp:2"), 12 + 24 + 24 + 24);
  // Functional collectives allocate where they are called.
  EXPECT_EQ(ReservedMibUnder("tp:2"), 12 + 24 + 24);
}

/// Blocks of 24 MiB are gathered one after the other, and each is read once
/// into a small tensor.
std::int64_t ReservedMibOfBlocks(const std::string& plan, int blocks) {
  std::string text = "graph \"blocks\" batch=1\n%s = parameter f32[3145728]\n";
  for (int i = 0; i < blocks; ++i) {
    const std::string at = std::to_string(i);
    text += "%g" + at + " = c10d::_allgather_base_(%s) {plan=\"" + plan +
            "\",gpus=2,bytes=25165824} : f32[6291456]\n%y" + at + " = sum(%g" +
            at + ") : f32[1]\n";
  }
  return SimulateText(text).reserved_peak / kMiB;
}

TEST(SimulateMemory, LetsOneFreedBlockOfFsdp1WaitForItsReader) {
  constexpr std::int64_t kRest = 12 + 2;  // The shard; small tensors.
  EXPECT_EQ(ReservedMibOfBlocks("fsdp:2", 4), kRest + 24);
  EXPECT_EQ(ReservedMibOfBlocks("fsdp1:2", 1), kRest + 24);
  EXPECT_EQ(ReservedMibOfBlocks("fsdp1:2", 2), kRest + 2 * 24);
  EXPECT_EQ(ReservedMibOfBlocks("fsdp1:2", 4), kRest + 2 * 24);
}

/// Of a gradient of 24 MiB a GPU keeps 12, then two of 24 MiB are made:
/// one in the block of what was gathered.
std::int64_t ReservedMibOfGradient(const std::string& plan) {
  return SimulateText(R"(graph "gradient" batch=1
%s = parameter f32[3145728]
%w = c10d::_allgather_base_(%s) {plan=")" +
                      plan + R"(",gpus=2,bytes=25165824} : f32[6291456]
%p = relu(%w) {stream="gather"} : f32[6291456]
%r = c10d::_reduce_scatter_base_(%p) {plan=")" +
                      plan + R"(",gpus=2,bytes=25165824} : f32[3145728]
%y = relu(%s) {stream="gather"} : f32[6291456]
%z = relu(%s) {stream="gather"} : f32[6291456]
output %r
output %y
output %z
)")
             .reserved_peak /
         kMiB;
}

TEST(SimulateMemory, LetsAFlatGradientWaitForItsReduction) {
  EXPECT_EQ(ReservedMibOfGradient("fsdp:2"), 12 + 24 + 24 + 12);
  EXPECT_EQ(ReservedMibOfGradient("fsdp1:2"), 12 + 24 + 24 + 12 + 24);
}

TEST(SimulateMemory, CountsTheBytesLostToRounding) {
  const MemoryBreakdown memory = SimulateText(R"(graph "tiny"
%x = input f32[1]
%y = relu(%x) : f32[1]
output %y
)");
  EXPECT_EQ(memory.allocated_peak, 1024);
  EXPECT_EQ(memory.at_peak_rounding, 1024 - 8);
}

TEST(SimulateMemory, ListsTheLargestTensorsAtThePeakFirst) {
  const MemoryBreakdown memory = SimulateText(R"(graph "sizes"
%x = input f32[1000]
%big = parameter f32[5000] label="encoder.weight"
%gone = relu(%x) : f32[9000]
%y = add(%gone, %big) : f32[4000]
%z = mul(%y, %big) : f32[8000]
output %z
)");
  // Alive while %y is made: 1000 + 5000 + 9000 + 4000 elements.
  EXPECT_EQ(memory.peak_node, 1);
  ASSERT_EQ(memory.largest_at_peak.size(), 4u);
  const LiveTensor& first = memory.largest_at_peak[0];
  EXPECT_EQ(first.label, "gone");
  EXPECT_EQ(first.bytes, 36'000);
  EXPECT_EQ(first.producer, 0);
  EXPECT_EQ(first.role, TensorRole::kActivation);
  ASSERT_TRUE(first.type);
  EXPECT_EQ(ToString(*first.type), "f32[9000]");
  const LiveTensor& second = memory.largest_at_peak[1];
  EXPECT_EQ(second.label, "encoder.weight");
  EXPECT_EQ(second.producer, kNone);
  EXPECT_EQ(second.role, TensorRole::kParameter);
  EXPECT_EQ(memory.largest_at_peak[2].label, "y");
  EXPECT_EQ(memory.largest_at_peak[3].label, "x");
}

TEST(SimulateMemory, ListsAtMostItsLimitOfTensors) {
  std::string text = "graph \"many\"\n";
  for (int i = 0; i < 50; ++i) {
    text += "%p" + std::to_string(i) + " = parameter f32[1000]\n";
  }
  EXPECT_EQ(SimulateText(text).largest_at_peak.size(), kMaxLiveTensors);
}

const char* const kTrainingStep = R"(graph "step" mode=training batch=4
%x = input f32[4,1024]
%w = parameter f32[1024,1024]
%m = optimizer_state f32[1024,1024]
%a = linear(%x, %w) : f32[4,1024] saved
%l = mean(%a) : f32[]
phase backward
%d = mul(%a, %l) : f32[4,1024] backward_temporary
%g = mm(%d, %x) : f32[1024,1024] gradient
phase optimizer
%u = add_(%m, %g) : f32[1024,1024] alias %m
%v = add_(%w, %m) : f32[1024,1024] alias %w
output %l
)";

TEST(SimulateMemory, TellsTheRolesOfATrainingStepApart) {
  const MemoryBreakdown memory = SimulateText(kTrainingStep);
  const std::int64_t matrix = 4 * kMiB;
  EXPECT_EQ(memory.AtPeak(TensorRole::kParameter), matrix);
  EXPECT_EQ(memory.AtPeak(TensorRole::kGradient), matrix);
  EXPECT_EQ(memory.AtPeak(TensorRole::kOptimizerState), matrix);
  EXPECT_EQ(memory.AtPeak(TensorRole::kBackwardTemporary), 4 * 1024 * 4);
  EXPECT_EQ(memory.peak_node, 3);
}

TEST(SimulateMemory, AttributesEveryByteOfThePeak) {
  for (const char* text : {kConvRelu, kTrainingStep}) {
    for (const bool with_workspaces : {false, true}) {
      const MemoryBreakdown memory = SimulateText(text, with_workspaces);
      const std::int64_t tensors =
          std::accumulate(memory.at_peak_by_role.begin(),
                          memory.at_peak_by_role.end(), std::int64_t{0});
      EXPECT_EQ(tensors + memory.at_peak_workspace + memory.at_peak_rounding,
                memory.allocated_peak);
      EXPECT_GE(memory.at_peak_rounding, 0);
      EXPECT_GE(memory.reserved_peak, memory.allocated_peak);
      EXPECT_EQ(memory.total, memory.context + memory.reserved_peak);
    }
  }
}

void ExpectDoubt(const MemoryBreakdown& memory, double share_above,
                 double share_below) {
  const auto moving = static_cast<double>(
      memory.reserved_peak - memory.AtPeak(TensorRole::kParameter) -
      memory.AtPeak(TensorRole::kBuffer));
  EXPECT_GT(moving, 0);
  EXPECT_NEAR(static_cast<double>(memory.total_high - memory.total),
              share_above * moving + 10 * kMiB, 1);
  EXPECT_NEAR(static_cast<double>(memory.total - memory.total_low),
              share_below * moving + 10 * kMiB, 1);
}

TEST(SimulateMemory, DoubtsTheContextAndWhatIsNoParameter) {
  ExpectDoubt(SimulateText(kConvRelu), 0.25, 0.05);
}

TEST(SimulateMemory, DoubtsTrainingByAShareOfItsOwn) {
  ExpectDoubt(SimulateText(kTrainingStep), 0.10, 0.08);
}

TEST(SimulateMemory, DoubtsTheTrainingOfAFewParametersMore) {
  std::string text = kTrainingStep;
  const std::string before = "%a = linear";
  text.insert(text.find(before), "%f = parameter f32[4096,1024]\n");
  ExpectDoubt(SimulateText(text), 0.21, 0.18);
}

TEST(SimulateMemory, DoubtsAGuessedEnvironmentMore) {
  MemoryOptions options = TestOptions(false);
  const OperatorGraph graph = ParseGraph(kTrainingStep);
  const MemoryBreakdown named = SimulateMemory(graph, options);
  options.guessed_environment = true;
  const MemoryBreakdown guessed = SimulateMemory(graph, options);
  const auto moving = static_cast<double>(named.reserved_peak -
                                          named.AtPeak(TensorRole::kParameter) -
                                          named.AtPeak(TensorRole::kBuffer));
  EXPECT_EQ(guessed.total, named.total);
  EXPECT_NEAR(static_cast<double>(guessed.total_high - named.total_high),
              (0.23 - 0.10) * moving + 70 * kMiB, 1);
  EXPECT_NEAR(static_cast<double>(named.total_low - guessed.total_low),
              70 * kMiB, 1);
}

TEST(SimulateMemory, GrowsWithTheBatch) {
  std::int64_t previous = 0;
  for (const int batch : {1, 2, 8, 32, 128}) {
    const std::string type = "f32[" + std::to_string(batch) + ",64,56,56]";
    const MemoryBreakdown memory = SimulateText(
        "graph \"batch\"\n%x = input " + type +
            "\n%a = conv2d(%x, weight f32[64,64,3,3]) {padding=[1,1]} : " +
            type + "\n%b = relu(%a) : " + type + "\noutput %b\n",
        true);
    EXPECT_GT(memory.allocated_peak, previous);
    previous = memory.allocated_peak;
  }
}

TEST(SimulateMemory, IgnoresTheNamesOfTensors) {
  std::string renamed = kConvRelu;
  for (char& c : renamed) {
    if (c == 'w') c = 'q';
    if (c == 'x') c = 'k';
  }
  const MemoryBreakdown memory = SimulateText(kConvRelu, true);
  const MemoryBreakdown other = SimulateText(renamed, true);
  EXPECT_EQ(memory.total, other.total);
  EXPECT_EQ(memory.at_peak_by_role, other.at_peak_by_role);
}

TEST(SimulateMemory, TakesAGraphWithoutAnything) {
  const MemoryBreakdown memory = SimulateText("graph \"empty\"\n");
  EXPECT_EQ(memory.total, 100 * kMiB);
  EXPECT_TRUE(memory.timeline.empty());
}

TEST(SimulateMemory, NamesTheNodeThatRunsOutOfMemory) {
  MemoryOptions options = TestOptions(false);
  options.allocator.device_limit_bytes = 21 * kMiB;
  const MemoryBreakdown memory = SimulateMemory(ParseGraph(R"(graph "large"
%x = input f32[2,1048576]
%a = relu(%x) : f32[2,1048576]
%b = cat(%a, %x) : f32[4,1048576]
output %b
)"),
                                                options);
  ASSERT_TRUE(memory.shortage);
  EXPECT_EQ(memory.shortage->node, 1);
  EXPECT_EQ(memory.shortage->requested_bytes, 16 * kMiB);
  EXPECT_EQ(memory.shortage->reserved, 20 * kMiB);
  EXPECT_EQ(memory.allocated_peak, 16 * kMiB);
}

TEST(SimulateMemory, AccountsForNoWorkspaceThatDoesNotFit) {
  // Two maps of 32 MiB with their own segments, a weight with one of 2 MiB; the
  // workspace is half of the three together.
  const OperatorGraph graph = ParseGraph(R"(graph "c"
%x = input f32[8,64,128,128]
%w = parameter f32[64,64,3,3]
%y = conv2d(%x, %w) {padding=[1,1]} : f32[8,64,128,128]
output %y
)");
  const std::int64_t tensors = 64 * kMiB + 64 * 64 * 9 * 4;
  MemoryOptions options = TestOptions(true);
  EXPECT_EQ(SimulateMemory(graph, options).workspace_peak, tensors / 2);
  options.allocator.device_limit_bytes = 66 * kMiB;
  const MemoryBreakdown memory = SimulateMemory(graph, options);
  EXPECT_FALSE(memory.shortage);
  EXPECT_EQ(memory.workspace_peak, 0);
  EXPECT_EQ(memory.at_peak_workspace, 0);
  EXPECT_EQ(memory.allocated_peak, tensors);
  EXPECT_EQ(memory.at_peak_rounding, 0);
}

TEST(SimulateMemory, CountsKernelsOfCudnnForWhatNeedsThem) {
  MemoryOptions options = TestOptions(false);
  options.context.cudnn_mib = 30;
  EXPECT_EQ(SimulateMemory(ParseGraph(kConvRelu), options).context, 100 * kMiB);
  const OperatorGraph relu = ParseGraph(R"(graph "relu"
%x = input f32[16]
%y = relu(%x) : f32[16]
output %y
)");
  EXPECT_EQ(SimulateMemory(relu, options).context, 70 * kMiB);
  EXPECT_TRUE(FitsInMemory(relu, options, 72 * kMiB));
  EXPECT_FALSE(FitsInMemory(relu, options, 72 * kMiB - 1));
}

TEST(SimulateMemory, CountsAHandleOfCublasForEachThreadThatMultiplies) {
  MemoryOptions options = TestOptions(false);
  options.context.cublas_handle_mib = 66;
  const auto context_of = [&options](const std::string& text) {
    return SimulateMemory(ParseGraph(text), options).context / kMiB;
  };
  EXPECT_EQ(context_of(kConvRelu), 100);
  EXPECT_EQ(context_of(TrainingStep("mul(%y, %w)")), 100 + 66);
  EXPECT_EQ(context_of(TrainingStep("mm(%y, %w)")), 100 + 2 * 66);
}

TEST(SimulateMemory, CountsWhatRecordedCudaGraphsHold) {
  const auto context_of = [](const std::string& runtime) {
    return SimulateText("graph \"g\" runtime=" + runtime +
                        "\n%x = input f32[8]\n%y = relu(%x) : f32[8]\n"
                        "output %y\n")
               .context /
           kMiB;
  };
  EXPECT_EQ(context_of("\"compile\""), 100);
  EXPECT_EQ(context_of("\"compile,reduce-overhead\""), 100 + 70);
}

TEST(FitsInMemory, CountsTheContext) {
  const OperatorGraph graph = ParseGraph(kConvRelu);
  const MemoryOptions options = TestOptions(false);
  EXPECT_TRUE(FitsInMemory(graph, options, 122 * kMiB));
  EXPECT_FALSE(FitsInMemory(graph, options, 122 * kMiB - 1));
  EXPECT_FALSE(FitsInMemory(graph, options, 99 * kMiB));
}

TEST(FitsInMemory, GivesCachedSegmentsBackBeforeItRefuses) {
  // 40 MiB die before 60 MiB are born: 102 MiB reserved when there is room,
  // 62 MiB when there is not.
  const OperatorGraph graph = ParseGraph(R"(graph "phases"
%x = input f32[16]
%a = relu(%x) : f32[10485760]
%s = sum(%a) : f32[]
%b = expand_copy(%s) : f32[15728640]
output %b
)");
  const MemoryOptions options = TestOptions(false);
  EXPECT_EQ(SimulateMemory(graph, options).total, (100 + 102) * kMiB);
  EXPECT_TRUE(FitsInMemory(graph, options, (100 + 62) * kMiB));
  EXPECT_FALSE(FitsInMemory(graph, options, (100 + 62) * kMiB - 1));
}

/// Asserts that the step runs in its least memory and not in 2 MiB less.
void ExpectLeast(const OperatorGraph& graph, const MemoryOptions& options) {
  const MemoryBreakdown memory = SimulateMemory(graph, options);
  const std::int64_t least = LeastMemory(graph, options, memory);
  EXPECT_LE(least, memory.total);
  EXPECT_TRUE(FitsInMemory(graph, options, least));
  EXPECT_FALSE(FitsInMemory(graph, options, least - 1));
  EXPECT_FALSE(FitsInMemory(graph, options, least - 2 * kMiB));
}

TEST(LeastMemory, GivesCachedSegmentsBack) {
  // As above: 40 MiB die before 60 MiB are born, beside a segment of 2 MiB.
  const OperatorGraph graph = ParseGraph(R"(graph "phases"
%x = input f32[16]
%a = relu(%x) : f32[10485760]
%s = sum(%a) : f32[]
%b = expand_copy(%s) : f32[15728640]
output %b
)");
  const MemoryOptions options = TestOptions(false);
  EXPECT_EQ(LeastMemory(graph, options, SimulateMemory(graph, options)),
            (100 + 62) * kMiB);
  ExpectLeast(graph, options);
}

TEST(LeastMemory, DoesWithoutWorkspacesOfConvolutions) {
  const OperatorGraph graph = ParseGraph(R"(graph "c"
%x = input f32[8,64,128,128]
%w = parameter f32[64,64,3,3]
%y = conv2d(%x, %w) {padding=[1,1]} : f32[8,64,128,128]
output %y
)");
  const MemoryOptions options = TestOptions(true);
  EXPECT_EQ(LeastMemory(graph, options, SimulateMemory(graph, options)),
            (100 + 32 + 32 + 2) * kMiB);
  ExpectLeast(graph, options);
}

TEST(LeastMemory, IsTheTotalWhereNothingIsCached) {
  const OperatorGraph graph = ParseGraph(kConvRelu);
  const MemoryOptions options = TestOptions(false);
  const MemoryBreakdown memory = SimulateMemory(graph, options);
  EXPECT_EQ(LeastMemory(graph, options, memory), memory.total);
  ExpectLeast(graph, options);
}

TEST(LeastMemory, IsTheContextOfAnEmptyGraph) {
  const OperatorGraph graph = GraphBuilder(GraphInfo{}).Build();
  const MemoryOptions options = TestOptions(true);
  EXPECT_EQ(LeastMemory(graph, options, SimulateMemory(graph, options)),
            100 * kMiB);
}

TEST(LeastMemory, IsTheTotalAfterAShortage) {
  MemoryOptions options = TestOptions(false);
  options.allocator.device_limit_bytes = 2 * kMiB;
  const OperatorGraph graph = ParseGraph(kConvRelu);
  const MemoryBreakdown memory = SimulateMemory(graph, options);
  ASSERT_TRUE(memory.shortage);
  EXPECT_EQ(LeastMemory(graph, options, memory), memory.total);
}

TEST(SimulateMemory, PassesRefusalsOn) {
  EXPECT_THROW(SimulateText(R"(graph "absurd"
%x = input f32[288230376151711744]
output %x
)"),
               Error);
}

}  // namespace
}  // namespace foretell
