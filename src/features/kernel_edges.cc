#include "src/features/kernel_edges.h"

#include <algorithm>
#include <cstddef>
#include <map>
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

/// The place of the first kernel that is equal in all except node and count,
/// for every kernel.
Places FirstEqual(std::span<const cost::Kernel> kernels) {
  Places first;
  std::map<cost::Kernel, std::int64_t> places;
  for (const cost::Kernel& kernel : kernels) {
    first.push_back(places.try_emplace(cost::WorkOf(kernel), std::ssize(first))
                        .first->second);
  }
  return first;
}

/// For every kernel what it is and what it reads from, both by FirstEqual.
std::vector<std::pair<std::int64_t, Places>> Neighbourhoods(
    const KernelEdges& edges, const Places& first) {
  std::vector<std::pair<std::int64_t, Places>> seen;
  for (const std::int64_t kind : first) seen.push_back({kind, {}});
  for (std::size_t i = 0; i < edges.sources.size(); ++i) {
    const auto source = static_cast<std::size_t>(edges.sources[i]);
    const auto target = static_cast<std::size_t>(edges.targets[i]);
    seen[target].second.push_back(first[source]);
  }
  for (auto& [kind, producers] : seen) std::ranges::sort(producers);
  return seen;
}

}  // namespace

KernelGraph MergeAlike(const KernelGraph& graph) {
  const Places first = FirstEqual(graph.kernels);
  KernelGraph merged;
  std::map<std::pair<std::int64_t, Places>, std::int64_t> places;
  std::map<std::int64_t, std::int64_t> place_of_kind;
  for (std::size_t i = 0;
       const auto& seen : Neighbourhoods(graph.edges, first)) {
    const cost::Kernel& kernel = graph.kernels[i++];
    const auto [place, is_new] =
        places.try_emplace(seen, std::ssize(merged.kernels));
    if (is_new) {
      merged.kernels.push_back(kernel);
      place_of_kind.try_emplace(seen.first, place->second);
    } else {
      merged.kernels[static_cast<std::size_t>(place->second)].count +=
          kernel.count;
    }
  }
  for (const auto& [seen, target] : places) {
    for (const std::int64_t producer : seen.second) {
      merged.edges.sources.push_back(place_of_kind.at(producer));
      merged.edges.targets.push_back(target);
    }
  }
  return merged;
}

KernelEdges EdgesOfKernels(const OperatorGraph& graph,
                           std::span<const cost::Kernel> kernels) {
  return EdgeWalk(graph, kernels).Walk();
}

}  // namespace foretell::learned
