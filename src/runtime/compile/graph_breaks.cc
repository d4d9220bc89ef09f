#include "src/runtime/compile/graph_breaks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "src/core/failure.h"
#include "src/graph/block_paths.h"
#include "src/graph/index_of.h"

// Autograd runs the backward pass in the reverse order of the forward pass, so
// regions follow each other from the last to the first. The region of a node of
// the backward pass is never later than that of the node before it. It is
//
//   that of its forward operator   if it reads that operator's result
//                                  (derivatives.yaml)
//   that of the node before it     if it reads gradients alone
//   the latest that made or read   otherwise
//   all tensors of the forward
//   pass that the node reads

namespace foretell::runtime {
namespace {

using Regions = std::vector<int>;  ///< Ascending.

/// Operators (grad, result, …) whose forward operator made the result.
constexpr auto kOnResults = std::to_array<std::string_view>(
    {"threshold_backward", "sigmoid_backward", "tanh_backward",
     "_softmax_backward_data", "_log_softmax_backward_data"});
constexpr std::size_t kResult = 1;

class RegionFinder {
 public:
  explicit RegionFinder(const OperatorGraph& graph)
      : graph_(graph),
        region_of_(graph.nodes().size(), kNone),
        touching_(graph.storages().size()) {}

  std::vector<int> Run(const std::vector<std::string>& breaks) {
    RefuseSeveralBatches();
    BreakAfter(breaks);
    PlaceForward();
    PlaceBackward();
    return std::move(region_of_);
  }

 private:
  void RefuseSeveralBatches() const {
    if (std::ranges::is_sorted(graph_.nodes(), {}, &Node::phase)) return;
    throw InvalidArgument(
        "breaks: a step of several batches, expected one forward and one "
        "backward pass");
  }

  void BreakAfter(const std::vector<std::string>& breaks) {
    breaks_after_.assign(graph_.nodes().size(), false);
    for (const std::string& path : breaks) {
      const BlockOf block_of = BlocksOfPath(path);
      std::string before;
      bool is_found = false;
      for (std::size_t i = 0; i < breaks_after_.size(); ++i) {
        const Node& node = graph_.nodes()[i];
        if (node.phase != Phase::kForward) break;
        const std::string block = block_of(node.scope);
        if (i > 0 && !before.empty() && before != block) {
          breaks_after_[i - 1] = true;
        }
        is_found |= !block.empty();
        before = block;
      }
      if (is_found) continue;
      throw InvalidArgument("breaks: '{}' is no module that the network runs",
                            path);
    }
  }

  void PlaceForward() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      if (node.phase != Phase::kForward) continue;
      region_of_[IndexOf(id)] = last_;
      for (const ValueId input : node.inputs) Touch(input);
      for (const ValueId output : node.outputs) Touch(output);
      if (breaks_after_[IndexOf(id)]) ++last_;
    }
  }

  void Touch(ValueId id) {
    Regions& regions = touching_[IndexOf(graph_.value(id).storage)];
    if (regions.empty() || regions.back() != last_) regions.push_back(last_);
  }

  void PlaceBackward() {
    int region = last_;
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      if (node.phase != Phase::kBackward) continue;
      region = std::min(region, LatestOf(node, region));
      region_of_[IndexOf(id)] = region;
    }
  }

  int LatestOf(const Node& node, int region) const {
    if (std::ranges::count(kOnResults, node.target) > 0 &&
        node.inputs.size() > kResult) {
      const NodeId maker = graph_.value(node.inputs[kResult]).producer;
      if (maker != kNone) return region_of_[IndexOf(maker)];
    }
    for (int latest = region; latest >= 0; --latest) {
      const bool has_all = std::ranges::all_of(node.inputs, [&](ValueId id) {
        const Regions& having = touching_[IndexOf(graph_.value(id).storage)];
        return having.empty() || std::ranges::binary_search(having, latest);
      });
      if (has_all) return latest;
    }
    return region;
  }

  const OperatorGraph& graph_;
  std::vector<bool> breaks_after_;  ///< By node.
  std::vector<int> region_of_;      ///< By node.
  std::vector<Regions> touching_;   ///< By storage: in the forward pass.
  int last_ = 0;                    ///< The newest region.
};

}  // namespace

std::vector<int> FindRegions(const OperatorGraph& graph,
                             const std::vector<std::string>& breaks) {
  return RegionFinder(graph).Run(breaks);
}

}  // namespace foretell::runtime
