#include "src/memory/link_buffers.h"

#include <gtest/gtest.h>

#include <string_view>

#include "foretell/memory.h"
#include "src/core/units.h"
#include "src/graph/collective.h"

namespace foretell {
namespace {

OperatorGraph Exchanging(std::string_view target, std::int64_t gpus) {
  GraphBuilder builder(GraphInfo{});
  const StorageId storage = builder.AddStorage(64, TensorRole::kActivation);
  const ValueId x = builder.AddSource("x", {DType::kF32, {16}}, storage);
  const NodeId node = builder.AddNode(
      {.target = std::string(target),
       .inputs = {x},
       .attributes = {{std::string(kGpusAttribute), gpus},
                      {std::string(kBytesAttribute), std::int64_t{64}}}});
  builder.AddResult(node, "y", {DType::kF32, {16}}, storage);
  builder.DeriveLifetimes();
  return builder.Build();
}

std::int64_t MibOn(const char* device, std::string_view target,
                   std::int64_t gpus) {
  return memory::LinkBufferBytes(Exchanging(target, gpus),
                                 DeviceCatalog::BuiltIn().FindDevice(device)) /
         kMiB;
}

TEST(LinkBuffers, AreOfRingsTreesAndSharp) {
  // 24 channels of 12 MiB, three neighbours; 2 x 16 MiB for each GPU.
  EXPECT_EQ(MibOn("h100-sxm5-80gb", kAllReduce, 8), 24 * 12 * 3 + 32 * 8);
  EXPECT_EQ(MibOn("a100-sxm4-80gb", kAllReduce, 8), 24 * 12 * 3);
  EXPECT_EQ(MibOn("a100-sxm4-80gb", kAllGather, 8), 24 * 12);
  EXPECT_EQ(MibOn("h100-sxm5-80gb", kReduceScatter, 4), 24 * 12 + 32 * 4);
  EXPECT_EQ(MibOn("h100-sxm5-80gb", kBroadcast, 8), 24 * 12);
  EXPECT_EQ(MibOn("h100-sxm5-80gb", kAllReduce, 2), 24 * 12 * 3);
}

TEST(LinkBuffers, LieInTheHostsMemoryWithoutNvLink) {
  EXPECT_EQ(MibOn("rtx-4090", kAllReduce, 8), 0);
}

TEST(LinkBuffers, AreAPartOfTheTotal) {
  const DeviceSpec& device =
      DeviceCatalog::BuiltIn().FindDevice("h100-sxm5-80gb");
  const MemoryOptions options{
      .device = device, .context = DeviceCatalog::BuiltIn().DefaultContext()};
  const OperatorGraph graph = Exchanging(kAllReduce, 8);
  const MemoryBreakdown memory = SimulateMemory(graph, options);
  EXPECT_EQ(memory.link_buffers, memory::LinkBufferBytes(graph, device));
  EXPECT_EQ(memory.total,
            memory.context + memory.link_buffers + memory.reserved_peak);
  const std::int64_t least = LeastMemory(graph, options, memory);
  EXPECT_TRUE(FitsInMemory(graph, options, least));
  EXPECT_FALSE(FitsInMemory(graph, options, memory.link_buffers));
}

// All-reduces run next to the step without a stream of FSDP's.
TEST(LinkBuffers, AreExchangedOnStreamsThatTheContextHolds) {
  const MemoryOptions options{
      .device = DeviceCatalog::BuiltIn().FindDevice("h100-sxm5-80gb"),
      .context = DeviceCatalog::BuiltIn().DefaultContext()};
  const auto context = [&](std::string_view target) {
    return SimulateMemory(Exchanging(target, 8), options).context / kMiB;
  };
  EXPECT_EQ(context(kAllGather), context(kAllReduce) + 70);
  EXPECT_EQ(context(kReduceScatter), context(kAllReduce) + 70);
}

}  // namespace
}  // namespace foretell
