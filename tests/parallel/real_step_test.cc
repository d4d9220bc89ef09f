// Bytes of steps that GPUs share, against those that real PyTorch allocates
// when processes share them over Gloo.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/parallel/accumulate_shards.h"
#include "tests/parallel/real_rows.h"
#include "tests/parallel/step_files.h"

namespace foretell {
namespace {

using parallel_test::RealRow;
using parallel_test::RealRows;
using parallel_test::Simulated;

TEST(RealStep, TakesTheBytesThatPyTorchAllocates) {
  // Those that are traced as one GPU runs them are compared by
  // tests/program/context_parallel_test.cc and expert_parallel_test.cc.
  std::vector<RealRow> rows = RealRows();
  std::erase_if(rows, [](const RealRow& row) {
    return row.network.starts_with("ring") || row.network.starts_with("routed");
  });
  EXPECT_EQ(rows.size(), 61u);
  for (const RealRow& row : rows) {
    SCOPED_TRACE(row.network + " " + row.plan + " x" +
                 std::to_string(row.batches));
    const bool has_blocks = row.plan.starts_with("fsdp") ||
                            row.plan.starts_with("hsdp") ||
                            row.plan.starts_with("zero2");
    const std::string blocks =
        row.network == "mlp" ? ",blocks=layers.*" : ",blocks=blocks.*";
    const bool is_traced = row.batches > 1 && !has_blocks;
    const std::string step =
        row.network + (is_traced ? fmt::format(".{}", row.batches) : "");
    const OperatorGraph graph = parallel_test::ReadStep(step).Under(
        row.plan + (has_blocks ? blocks : ""));
    const int added = is_traced ? 1 : row.batches;
    const bool no_sync = row.plan.find("no-sync") != std::string::npos;
    EXPECT_EQ(Simulated(parallel::AccumulateShards(graph, added, no_sync)),
              row.bytes);
  }
}

TEST(RealStep, TakesTheBytesOfEachStage) {
  const std::vector<RealRow> rows = parallel_test::PipelineRows();
  EXPECT_EQ(rows.size(), 14u);
  for (const RealRow& row : rows) {
    SCOPED_TRACE(fmt::format("{} gpu {}", row.plan, row.gpu));
    const bool has_blocks =
        row.plan.ends_with("+zero2:2") || row.plan.ends_with("+fsdp:2");
    const OperatorGraph shown =
        parallel_test::ReadStep(row.network)
            .Under(row.plan + (has_blocks ? ",blocks=blocks.*" : ""));
    ASSERT_EQ(shown.pipeline().size(), 2u);
    const PipelineGpu& gpu =
        shown.pipeline()[static_cast<std::size_t>(row.gpu)];
    parallel_test::Bytes bytes = Simulated(gpu.graph);
    // Python's call of the backward pass holds the loss's gradient, a scalar.
    if (row.gpu == 1) bytes[3] += 4;
    EXPECT_EQ(bytes, row.bytes);
  }
}

}  // namespace
}  // namespace foretell
