#include "src/features/kernel_edges.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace foretell::learned {
namespace {

using Places = std::vector<std::int64_t>;

/// A walk over the operators of a graph in their order.
class EdgeWalk {
 public:
  EdgeWalk(const OperatorGraph& graph, std::span<const cost::Kernel> kernels)
      : graph_(graph), kernels_(kernels), writers_(graph.storages().size()) {}

  KernelEdges Walk() && {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) Visit(id);
    return std::move(edges_);
  }

 private:
  Places& WritersOf(ValueId value) {
    return writers_[static_cast<std::size_t>(graph_.value(value).storage)];
  }

  /// Writers of all operands of a node, each once.
  Places ReadBy(const Node& node) {
    Places read;
    for (const ValueId input : node.inputs) {
      const Places& writers = WritersOf(input);
      read.insert(read.end(), writers.begin(), writers.end());
    }
    std::ranges::sort(read);
    const auto repeated = std::ranges::unique(read);
    read.erase(repeated.begin(), repeated.end());
    return read;
  }

  void Join(std::int64_t source, std::int64_t target) {
    edges_.sources.push_back(source);
    edges_.targets.push_back(target);
  }

  void Visit(NodeId id) {
    const Places read = ReadBy(graph_.node(id));
    const std::int64_t first = next_;
    while (next_ < std::ssize(kernels_) &&
           kernels_[static_cast<std::size_t>(next_)].node == id) {
      for (const std::int64_t writer : read) Join(writer, next_);
      if (next_ > first) Join(next_ - 1, next_);
      ++next_;
    }
    const Places wrote = next_ > first ? Places{next_ - 1} : read;
    for (const ValueId output : graph_.node(id).outputs) {
      WritersOf(output) = wrote;
    }
  }

  const OperatorGraph& graph_;
  std::span<const cost::Kernel> kernels_;
  std::int64_t next_ = 0;        ///< Kernel that has not been visited.
  std::vector<Places> writers_;  ///< By storage.
  KernelEdges edges_;
};

}  // namespace

KernelEdges EdgesOfKernels(const OperatorGraph& graph,
                           std::span<const cost::Kernel> kernels) {
  return EdgeWalk(graph, kernels).Walk();
}

}  // namespace foretell::learned
