#include "src/runtime/compile/graph_breaks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "src/core/failure.h"
#include "src/graph/block_paths.h"
#include "src/graph/block_runs.h"
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

bool RunsPassByPass(const OperatorGraph& graph) {
  return std::ranges::is_sorted(graph.nodes(), {}, &Node::phase);
}

namespace {

using Touching = std::vector<int>;  ///< Regions, ascending.

/// Operators (grad, result, …) whose forward operator made the result.
constexpr auto kOnResults = std::to_array<std::string_view>(
    {"threshold_backward", "sigmoid_backward", "tanh_backward",
     "_softmax_backward_data", "_log_softmax_backward_data"});
constexpr std::size_t kResult = 1;

/// The loss with the casts and views before it that no module makes, as a
/// function of results and labels; empty: the network has no such operator.
std::vector<BlockRun> LossOf(const OperatorGraph& graph) {
  const auto nodes = graph.nodes();
  const auto loss = std::ranges::find_if(nodes, [](const Node& node) {
    return node.kind == OpKind::kLoss && node.scope.empty();
  });
  if (loss == nodes.end()) return {};
  const auto end = static_cast<NodeId>(loss - nodes.begin());
  NodeId first = end;
  const auto prepares = [&](const Node& node) {
    return node.scope.empty() &&
           (node.kind == OpKind::kCast || node.kind == OpKind::kView);
  };
  while (first > 0 && prepares(graph.node(first - 1))) --first;
  return {{.first = first, .last = end}};
}

class RegionFinder {
 public:
  explicit RegionFinder(const OperatorGraph& graph)
      : graph_(graph),
        region_of_(graph.nodes().size(), kNone),
        touching_(graph.storages().size()) {}

  Regions Run(const RuntimeSpec& spec) {
    RefuseSeveralBatches();
    begins_.assign(graph_.nodes().size() + 1, false);
    for (const std::string& path : spec.breaks) {
      const std::vector<BlockRun> calls = CallsOf(path);
      RequireCalls(calls, "breaks", path);
      for (const BlockRun& call : calls) BreakAfter(call);
    }
    is_inside_.assign(graph_.nodes().size(), spec.only.empty());
    CompileOnly(spec.only);
    PlaceForward();
    PlaceBackward();
    return {.of_node = std::move(region_of_),
            .is_compiled = std::move(is_compiled_)};
  }

 private:
  void RefuseSeveralBatches() const {
    if (RunsPassByPass(graph_)) return;
    throw InvalidArgument(
        "parts of a compiled step: a step of several batches, expected one "
        "forward and one backward pass");
  }

  std::vector<BlockRun> CallsOf(const std::string& path) const {
    return RunsOf(graph_, BlocksOfPath(path));
  }

  std::vector<BlockRun> CompiledCallsOf(const std::string& path) const {
    if (path == kAutomaticModules) return RunsOf(graph_, BlocksOfNumber(0));
    std::vector<BlockRun> calls = CallsOf(path);
    return calls.empty() && path == kLossFunction ? LossOf(graph_) : calls;
  }

  static void RequireCalls(const std::vector<BlockRun>& calls,
                           std::string_view option, const std::string& path) {
    if (!calls.empty()) return;
    throw InvalidArgument("{}: '{}' is no module that the network runs", option,
                          path);
  }

  void BreakAfter(const BlockRun& call) {
    begins_[IndexOf(call.last) + 1] = true;
  }

  void CompileOnly(const std::vector<std::string>& paths) {
    std::vector<BlockRun> calls;
    for (const std::string& path : paths) {
      const std::vector<BlockRun> found = CompiledCallsOf(path);
      RequireCalls(found, "only", path);
      calls.insert(calls.end(), found.begin(), found.end());
    }
    std::ranges::sort(calls, {}, [](const BlockRun& call) {
      return std::pair(call.first, -call.last);
    });
    NodeId end = 0;
    for (const BlockRun& call : calls) {
      if (call.last < end) continue;  // Inside of another.
      end = call.last + 1;
      begins_[IndexOf(call.first)] = true;
      BreakAfter(call);
      std::fill(is_inside_.begin() + call.first, is_inside_.begin() + end,
                true);
    }
  }

  void PlaceForward() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      if (node.phase != Phase::kForward) continue;
      if (is_compiled_.empty() || begins_[IndexOf(id)]) {
        is_compiled_.push_back(is_inside_[IndexOf(id)]);
      }
      region_of_[IndexOf(id)] = Last();
      for (const ValueId input : node.inputs) Touch(input);
      for (const ValueId output : node.outputs) Touch(output);
    }
  }

  int Last() const { return static_cast<int>(is_compiled_.size()) - 1; }

  void Touch(ValueId id) {
    Touching& regions = touching_[IndexOf(graph_.value(id).storage)];
    if (regions.empty() || regions.back() != Last()) regions.push_back(Last());
  }

  void PlaceBackward() {
    int region = Last();
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
        const Touching& having = touching_[IndexOf(graph_.value(id).storage)];
        return having.empty() || std::ranges::binary_search(having, latest);
      });
      if (has_all) return latest;
    }
    return region;
  }

  const OperatorGraph& graph_;
  std::vector<bool> begins_;        ///< By node: the graph breaks before it.
  std::vector<bool> is_inside_;     ///< By node: of what is compiled.
  std::vector<bool> is_compiled_;   ///< By region so far.
  std::vector<int> region_of_;      ///< By node.
  std::vector<Touching> touching_;  ///< By storage: in the forward pass.
};

}  // namespace

Regions FindRegions(const OperatorGraph& graph, const RuntimeSpec& spec) {
  return RegionFinder(graph).Run(spec);
}

}  // namespace foretell::runtime
