#include "src/runtime/compile/min_cut.h"

// GCC 12 takes an optional of Boost's edge iterator for uninitialized.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#pragma GCC diagnostic pop

#include <cstddef>

#include "foretell/error.h"

// The maximum flow is Boost's (Boykov and Kolmogorov). Of the minimum cuts, the
// one nearest to the sink is taken, which is the one that networkx.minimum_cut
// returns to PyTorch's partition: what leads nowhere is not cut.

namespace foretell::runtime {
namespace {

using Traits =
    boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using EdgeOf = Traits::edge_descriptor;
using VertexProperties = boost::property<
    boost::vertex_color_t, boost::default_color_type,
    boost::property<boost::vertex_predecessor_t, EdgeOf,
                    boost::property<boost::vertex_distance_t, long>>>;
using EdgeProperties = boost::property<
    boost::edge_capacity_t, double,
    boost::property<boost::edge_residual_capacity_t, double,
                    boost::property<boost::edge_reverse_t, EdgeOf>>>;
using FlowGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS,
                          VertexProperties, EdgeProperties>;

FlowGraph NetworkOf(std::int32_t vertices, const std::vector<FlowEdge>& edges) {
  FlowGraph graph(static_cast<std::size_t>(vertices));
  const auto capacity = boost::get(boost::edge_capacity, graph);
  const auto reverse = boost::get(boost::edge_reverse, graph);
  for (const FlowEdge& edge : edges) {
    const auto from = static_cast<std::size_t>(edge.from);
    const auto to = static_cast<std::size_t>(edge.to);
    const EdgeOf there = boost::add_edge(from, to, graph).first;
    const EdgeOf back = boost::add_edge(to, from, graph).first;
    capacity[there] = edge.capacity;
    capacity[back] = 0;
    reverse[there] = back;
    reverse[back] = there;
  }
  return graph;
}

/// Whether no residual capacity leads to the sink, by vertex.
std::vector<bool> CutOff(const FlowGraph& graph, std::size_t sink) {
  const auto residual = boost::get(boost::edge_residual_capacity, graph);
  const auto reverse = boost::get(boost::edge_reverse, graph);
  std::vector<bool> is_cut_off(boost::num_vertices(graph), true);
  std::vector<std::size_t> open = {sink};
  is_cut_off[sink] = false;
  while (!open.empty()) {
    const std::size_t vertex = open.back();
    open.pop_back();
    const auto [begin, end] = boost::out_edges(vertex, graph);
    for (auto edge = begin; edge != end; ++edge) {
      const std::size_t before = boost::target(*edge, graph);
      if (!is_cut_off[before] || residual[reverse[*edge]] <= 0) continue;
      is_cut_off[before] = false;
      open.push_back(before);
    }
  }
  return is_cut_off;
}

}  // namespace

std::vector<bool> SourceSide(std::int32_t vertices,
                             const std::vector<FlowEdge>& edges,
                             std::int32_t source, std::int32_t sink) {
  FlowGraph graph = NetworkOf(vertices, edges);
  const double flow = boost::boykov_kolmogorov_max_flow(
      graph, static_cast<std::size_t>(source), static_cast<std::size_t>(sink));
  if (flow >= kUnlimited) {
    throw Error(ErrorCode::kInternal,
                "every cut of the joint graph has an unlimited edge");
  }
  return CutOff(graph, static_cast<std::size_t>(sink));
}

}  // namespace foretell::runtime
