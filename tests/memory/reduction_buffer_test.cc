#include "src/memory/reduction_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "foretell/device.h"
#include "foretell/graph_io.h"
#include "tests/cost/test_device.h"

namespace foretell {
namespace {

/// What an H100 of 132 multiprocessors takes.
std::int64_t BufferOf(const std::string& call, const std::string& input) {
  DeviceSpec device = test::A100();
  device.sms = 132;
  const OperatorGraph graph =
      ParseGraph("graph \"g\"\n%x = input " + input + "\n%y = " + call + "\n");
  return memory::ReductionBufferBytes(graph.nodes().back(), graph, device);
}

// kinds.jsonl.gz of datasets/labels/h100-sxm5-80gb, less the semaphores.
TEST(ReductionBuffer, EqualsWhatAnH100Took) {
  EXPECT_EQ(BufferOf("sum(%x) {dim=[0]} : f32[512]", "f32[65536,512]"),
            138412544 - 512);
  EXPECT_EQ(BufferOf("sum(%x) {dim=[0]} : bf16[512]", "bf16[65536,512]"),
            138412544 - 512);
  EXPECT_EQ(BufferOf("amax(%x) {dim=[0]} : bf16[512]", "bf16[65536,512]"),
            69206528 - 512);
  EXPECT_EQ(BufferOf("var(%x) {dim=[0]} : f32[512]", "f32[65536,512]"),
            553648640 - 512);
  EXPECT_EQ(
      BufferOf("mean(%x) {dim=[1,2]} : f32[16,128]", "f32[16,64,128,128]"),
      134218240 - 512);
}

TEST(ReductionBuffer, IsSmallAlongTheFastestDimension) {
  EXPECT_EQ(BufferOf("sum(%x) {dim=[1]} : f32[65536]", "f32[65536,512]"), 0);
  // One output, one number per block.
  EXPECT_LT(BufferOf("sum(%x) {} : f32[]", "f32[65536,512]"), 1 << 20);
}

TEST(ReductionBuffer, IsNotThereForFewRows) {
  EXPECT_EQ(BufferOf("sum(%x) {dim=[0]} : f32[512]", "f32[64,512]"), 0);
}

TEST(ReductionBuffer, IsNoneOfOtherOperators) {
  EXPECT_EQ(BufferOf("relu(%x) : f32[65536,512]", "f32[65536,512]"), 0);
}

}  // namespace
}  // namespace foretell
