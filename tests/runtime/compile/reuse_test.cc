// Order and reuse of the buffers of a pass, by hand.

#include "src/runtime/compile/reuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/runtime/compile/peak_order.h"
#include "tests/runtime/compile/fused.h"

namespace foretell::runtime {
namespace {

using testing::ElementsAre;

/// The storage of the first result of node `id`.
StorageId StorageOf(const OperatorGraph& graph, NodeId id) {
  return graph.value(graph.node(id).outputs.front()).storage;
}

/// The fourth kernel reads what the second, which reads the first, and the
/// third make.
PassBuffers Chain() {
  PassBuffers pass;
  pass.buffers = {{.bytes = 10, .readers = {1}},
                  {.bytes = 20, .readers = {3}},
                  {.bytes = 10, .readers = {3}},
                  {.bytes = 1, .is_result = true}};
  pass.kernels = {
      {.made = {0}, .after = {1}, .made_bytes = 10},
      {.made = {1}, .read = {0}, .before = {0}, .after = {3}, .made_bytes = 20},
      {.made = {2}, .after = {3}, .made_bytes = 10},
      {.made = {3}, .read = {1, 2}, .before = {1, 2}, .made_bytes = 1}};
  return pass;
}

TEST(LiveBytes, CountsWhatAKernelReadsLastUntilTheNext) {
  EXPECT_THAT(LiveBytes(Chain(), {0, 1, 2, 3}), ElementsAre(10, 30, 30, 31, 1));
}

TEST(LiveBytes, CountsKeptTensorsFromTheStart) {
  PassBuffers pass = Chain();
  pass.buffers.push_back({.bytes = 5, .is_kept = true, .readers = {1}});
  EXPECT_THAT(LiveBytes(pass, {0, 1, 2, 3}), ElementsAre(15, 35, 30, 31, 1));
}

TEST(OrderForPeak, KeepsTheGivenOrderWhereNoneIsLower) {
  EXPECT_THAT(OrderForPeak(Chain()), ElementsAre(0, 1, 2, 3));
}

TEST(OrderForPeak, RunsWhatFreesBeforeWhatOnlyTakes) {
  // Two kernels make 100 bytes each, of which two others leave 1 byte each.
  PassBuffers pass;
  pass.buffers = {{.bytes = 100, .readers = {2}},
                  {.bytes = 100, .readers = {3}},
                  {.bytes = 1, .is_result = true},
                  {.bytes = 1, .is_result = true}};
  pass.kernels = {{.made = {0}, .after = {2}, .made_bytes = 100},
                  {.made = {1}, .after = {3}, .made_bytes = 100},
                  {.made = {2}, .read = {0}, .before = {0}, .made_bytes = 1},
                  {.made = {3}, .read = {1}, .before = {1}, .made_bytes = 1}};
  EXPECT_THAT(OrderForPeak(pass), ElementsAre(0, 2, 1, 3));
}

TEST(Reuse, WritesAnActivationOverTheConvolution) {
  const OperatorGraph graph = Fused(
      "%x = input f32[8,64,16,16]\n"
      "%w = parameter f32[64,64,3,3]\n"
      "%c = conv2d(%x, %w) {padding=[1, 1]} : f32[8,64,16,16]\n"
      "%r = relu(%c) : f32[8,64,16,16]\n"
      "output %r\n");
  ASSERT_EQ(graph.nodes().size(), 2U);
  EXPECT_EQ(StorageOf(graph, 0), StorageOf(graph, 1));
}

TEST(Reuse, LeavesInputsAndOtherTypesAlone) {
  const OperatorGraph graph = Fused(
      "%x = input f32[64,64]\n"
      "%w = parameter f32[64,64]\n"
      "%a = mm(%x, %w) : f32[64,64]\n"
      "%b = to(%a) : f16[64,64]\n"
      "output %b\n");
  ASSERT_EQ(graph.nodes().size(), 2U);
  EXPECT_NE(StorageOf(graph, 0), StorageOf(graph, 1));
}

TEST(Reuse, TakesWhatAnEarlierKernelFreed) {
  // The third product has the size of the first, which the second has read.
  const OperatorGraph graph = Fused(
      "%x = input f32[64,64]\n"
      "%w = parameter f32[64,64]\n"
      "%v = parameter f32[64,32]\n"
      "%u = parameter f32[32,64]\n"
      "%a = mm(%x, %w) : f32[64,64]\n"
      "%b = mm(%a, %v) : f32[64,32]\n"
      "%c = mm(%b, %u) : f32[64,64]\n"
      "%d = mm(%c, %v) : f32[64,32]\n"
      "output %d\n");
  ASSERT_EQ(graph.nodes().size(), 4U);
  EXPECT_EQ(StorageOf(graph, 0), StorageOf(graph, 2));
  EXPECT_NE(StorageOf(graph, 0), StorageOf(graph, 1));
}

}  // namespace
}  // namespace foretell::runtime
