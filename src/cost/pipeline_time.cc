#include "src/cost/pipeline_time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "foretell/error.h"
#include "src/cost/timelines.h"
#include "src/graph/collective.h"

namespace foretell::cost {
namespace {

/// Sender, receiver and tag.
using MessageKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

class PipelineRun {
 public:
  PipelineRun(std::span<const PipelineGpu> gpus,
              std::span<const CostEstimate> estimates)
      : gpus_(gpus), estimates_(estimates), next_(gpus.size(), 0) {
    for (const PipelineGpu& one : gpus) {
      lines_.emplace_back(one.graph.nodes().size());
    }
  }

  std::vector<double> Run() {
    for (bool moves = true; moves;) {
      moves = false;
      for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
        while (Step(gpu)) moves = true;
      }
    }
    std::vector<double> ends;
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      if (next_[gpu] < gpus_[gpu].graph.nodes().size()) {
        throw Error(
            ErrorCode::kInvalidArgument,
            "a GPU of a pipeline waits for a tensor that none sends; does a "
            "module run again after one of a later stage?");
      }
      ends.push_back(lines_[gpu].EndUs());
    }
    return ends;
  }

 private:
  /// Runs the GPU's next node; false if it has none, or must wait.
  bool Step(std::size_t gpu) {
    const OperatorGraph& graph = gpus_[gpu].graph;
    if (next_[gpu] == graph.nodes().size()) return false;
    const Node& node = graph.nodes()[next_[gpu]];
    const auto own = static_cast<std::int64_t>(gpu);
    const std::int64_t peer = node.Int(kPeerAttribute, 0);
    const std::int64_t tag = node.Int(kTagAttribute, 0);
    double arrives_us = 0;
    if (node.target == kReceive) {
      const auto sent = sent_us_.find({peer, own, tag});
      if (sent == sent_us_.end()) return false;
      arrives_us = sent->second;
    }
    lines_[gpu].Run(estimates_[gpu].nodes[next_[gpu]], arrives_us);
    if (node.target == kSend) sent_us_[{own, peer, tag}] = lines_[gpu].DoneUs();
    ++next_[gpu];
    return true;
  }

  std::span<const PipelineGpu> gpus_;
  std::span<const CostEstimate> estimates_;
  std::vector<std::size_t> next_;  ///< By GPU: its next node.
  std::vector<Timelines> lines_;
  std::map<MessageKey, double> sent_us_;
};

}  // namespace

std::vector<double> PipelineEndsUs(std::span<const PipelineGpu> gpus,
                                   std::span<const CostEstimate> estimates) {
  return PipelineRun(gpus, estimates).Run();
}

}  // namespace foretell::cost
