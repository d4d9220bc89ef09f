#include "src/cost/pipeline_time.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

/// A GPU whose operators, of 10 us each, are `lines`; exchanges take 2 us of
/// the sender's link.
struct OneGpu {
  PipelineGpu gpu;
  CostEstimate estimate;
};

OneGpu MakeGpu(const std::string& lines) {
  OneGpu one{.gpu = {.graph = ParseGraph("graph \"gpu\"\n%x = input f32[4]\n" +
                                         lines)},
             .estimate = {}};
  const OperatorGraph& graph = one.gpu.graph;
  for (const Node& node : graph.nodes()) {
    NodeCost cost;
    if (node.target == "c10d::send") cost.link_us = 2;
    if (node.target == "relu") cost.gpu_us = 10;
    for (const ValueId input : node.inputs) {
      const NodeId producer = graph.value(input).producer;
      if (producer != kNone) cost.waits_for.push_back(producer);
    }
    one.estimate.nodes.push_back(cost);
  }
  return one;
}

std::string Exchange(const std::string& name, const std::string& target,
                     const std::string& input, int peer, int tag) {
  return "%" + name + " = c10d::" + target + "(" + input +
         ") {plan=\"pp:2\", gpus=2, bytes=16, peer=" + std::to_string(peer) +
         ", tag=" + std::to_string(tag) + "} : f32[4]" +
         (input.empty() ? "" : " alias " + input) + "\n";
}

std::vector<double> Ends(const std::vector<OneGpu>& all) {
  std::vector<PipelineGpu> gpus;
  std::vector<CostEstimate> estimates;
  for (const OneGpu& one : all) {
    gpus.push_back(one.gpu);
    estimates.push_back(one.estimate);
  }
  return cost::PipelineEndsUs(gpus, estimates);
}

TEST(PipelineTime, WaitsForWhatAnotherGpuSends) {
  // 10 us, 2 us on the link, 10 us, and back the same way.
  const std::vector<double> ends = Ends(
      {MakeGpu("%a = relu(%x) : f32[4]\n" + Exchange("s", "send", "%a", 1, 0) +
               Exchange("r", "recv_", "", 1, 1) + "%b = relu(%r) : f32[4]\n"),
       MakeGpu(Exchange("r", "recv_", "", 0, 0) + "%a = relu(%r) : f32[4]\n" +
               Exchange("s", "send", "%a", 0, 1))});
  EXPECT_DOUBLE_EQ(ends.at(0), 34);
  EXPECT_DOUBLE_EQ(ends.at(1), 24);
}

TEST(PipelineTime, RefusesATensorThatNoneSends) {
  ExpectError(
      [] {
        Ends({MakeGpu("%a = relu(%x) : f32[4]\n"),
              MakeGpu(Exchange("r", "recv_", "", 0, 0))});
      },
      ErrorCode::kInvalidArgument, "that none sends");
}

}  // namespace
}  // namespace foretell
