// Exchanges as time, on a device whose numbers are round.

#include "src/cost/link.h"

#include <gtest/gtest.h>

#include <vector>

#include "foretell/cost.h"
#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "tests/cost/test_device.h"
#include "tests/parallel/step_files.h"

namespace foretell {
namespace {

using test::A100;

CostEstimate CostOf(const std::string& plan, double link_gb_s) {
  return EstimateCost(parallel_test::ReadStep("mlp").Under(plan), A100(),
                      {.link_gb_s = link_gb_s});
}

TEST(Link, TakesTheTimeOfARing) {
  const OperatorGraph graph = parallel_test::ReadStep("mlp").Under("ddp:4");
  double bytes = 0;
  double hops = 0;
  for (const cost::LinkUse& use : cost::LinkUses(graph)) {
    if (use.hops != 6) continue;
    bytes += use.bytes;
    hops += use.hops;
  }
  EXPECT_EQ(hops, 12);  // Two buckets there and back over three hops.
  EXPECT_EQ(bytes, 2 * 0.75 * 10'563'624);
  // 80 MB at 0.8 x 100 GB/s are 1 ms; ten hops 30 us.
  EXPECT_NEAR(cost::LinkUs({.bytes = 80e6, .hops = 10, .waits_for = {}}, 100),
              1030, 1e-9);
  EXPECT_EQ(cost::LinkUs({}, 100), 0);
}

TEST(Link, RotatesInOneHopAndSendsPartsToAll) {
  const OperatorGraph graph = ParseGraph(R"(graph "exchanges" batch=1
%x = input f32[8]
%a = c10d::permute_tensor(%x) {plan="cp:4", gpus=4, bytes=32} : f32[8]
%b = c10d::alltoall_base_(%x) {plan="ep:4", gpus=4, bytes=32} : f32[8]
output %a, %b
)");
  const std::vector<cost::LinkUse> uses = cost::LinkUses(graph);
  EXPECT_EQ(uses[0].bytes, 32);
  EXPECT_EQ(uses[0].hops, 1);
  EXPECT_EQ(uses[1].bytes, 24);
  EXPECT_EQ(uses[1].hops, 3);
}

TEST(Link, HidesWhatTheBackwardPassCovers) {
  const CostEstimate alone = CostOf("", 0);
  EXPECT_EQ(alone.gpu_link.busy_ms, 0);
  EXPECT_EQ(alone.exposed_link_ms, 0);
  const CostEstimate fast = CostOf("ddp:8", 300);
  const CostEstimate slow = CostOf("ddp:8", 1);
  EXPECT_EQ(fast.gpu_link.gb_s, 300);
  EXPECT_GT(slow.gpu_link.busy_ms, 100 * fast.gpu_link.busy_ms / 3);
  EXPECT_LE(fast.exposed_link_ms, fast.gpu_link.busy_ms);
  EXPECT_LT(slow.exposed_link_ms, slow.gpu_link.busy_ms);
  EXPECT_NEAR(slow.latency_ms - slow.exposed_link_ms,
              fast.latency_ms - fast.exposed_link_ms, 1e-9);
  // 18.5 MB at 0.8 GB/s, and nothing else takes so long.
  EXPECT_NEAR(slow.gpu_link.busy_ms, 23.2, 0.5);
  EXPECT_GT(slow.latency_ms, 20);
}

TEST(Link, TellsCopiesToTheHostFromExchanges) {
  const CostEstimate shards = CostOf("fsdp:8", 300);
  const CostEstimate offloaded = CostOf("fsdp:8,cpu-offload", 300);
  EXPECT_EQ(shards.host_link.bytes, 0);
  EXPECT_EQ(offloaded.gpu_link.bytes, shards.gpu_link.bytes);
  EXPECT_NEAR(offloaded.gpu_link.busy_ms, shards.gpu_link.busy_ms, 1e-9);
  EXPECT_EQ(offloaded.host_link.gb_s, 31.5);  // PCIe 4.0.
  EXPECT_GT(offloaded.host_link.busy_ms,
            offloaded.host_link.bytes / (0.8 * 31.5e6));
}

TEST(Link, IsTheDevicesUnlessItIsGiven) {
  EXPECT_EQ(CostOf("fsdp:8", 0).gpu_link.gb_s, A100().link_gb_s);
  DeviceSpec unknown = A100();
  unknown.link_gb_s = 0;
  const OperatorGraph graph = parallel_test::ReadStep("mlp").Under("fsdp:8");
  EXPECT_THROW(EstimateCost(graph, unknown), Error);
  EXPECT_NO_THROW(EstimateCost(graph, unknown, {.link_gb_s = 25}));
  // That of a GPU which only receives, too.
  EXPECT_EQ(cost::SpeedsOf(A100(), {}, {cost::LinkUse{}}).between_gpus,
            A100().link_gb_s);
}

}  // namespace
}  // namespace foretell
