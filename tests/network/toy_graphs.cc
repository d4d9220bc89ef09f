#include "tests/network/toy_graphs.h"

#include <torch/torch.h>

#include <algorithm>
#include <random>

namespace foretell::learned {

GraphFeatures CountedGraph(std::int64_t num_nodes, const Edges& edges) {
  GraphFeatures graph;
  graph.nodes.resize(static_cast<std::size_t>(num_nodes));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    graph.nodes[i][0] = static_cast<float>(i + 1);
  }
  for (const auto& [source, target] : edges) {
    graph.sources.push_back(source);
    graph.targets.push_back(target);
  }
  return graph;
}

GraphFeatures RandomGraph(std::int64_t num_nodes, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  Edges edges;
  for (std::int64_t i = 0; i + 1 < num_nodes; ++i) {
    edges.emplace_back(i, i + 1);
    const std::int64_t skip =
        i + 2 + static_cast<std::int64_t>(generator() % 4);
    if (generator() % 3 == 0 && skip < num_nodes) edges.emplace_back(i, skip);
  }
  GraphFeatures graph = CountedGraph(num_nodes, edges);
  for (NodeFeatureRow& row : graph.nodes) {
    for (float& value : row) value = uniform(generator);
  }
  return graph;
}

GraphFeatures Renamed(const GraphFeatures& graph,
                      const std::vector<std::int64_t>& name) {
  GraphFeatures renamed = graph;
  for (std::size_t i = 0; i < name.size(); ++i) {
    renamed.nodes[static_cast<std::size_t>(name[i])] = graph.nodes[i];
  }
  Edges edges;
  for (std::size_t e = 0; e < graph.sources.size(); ++e) {
    edges.emplace_back(name[static_cast<std::size_t>(graph.sources[e])],
                       name[static_cast<std::size_t>(graph.targets[e])]);
  }
  std::ranges::sort(edges);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    renamed.sources[e] = edges[e].first;
    renamed.targets[e] = edges[e].second;
  }
  return renamed;
}

GraphBatch CollateAll(const std::vector<GraphFeatures>& graphs,
                      std::int64_t num_statics) {
  std::vector<std::vector<float>> statics;
  std::vector<GraphInput> inputs;
  for (const GraphFeatures& graph : graphs) {
    std::vector<float>& row =
        statics.emplace_back(static_cast<std::size_t>(num_statics));
    for (std::size_t k = 0; k < row.size(); ++k) {
      row[k] = graph.nodes[0][k] / 2;
    }
    inputs.push_back({&graph, {}});
  }
  for (std::size_t g = 0; g < graphs.size(); ++g)
    inputs[g].statics = statics[g];
  return Collate(inputs);
}

GraphBatch InDouble(GraphBatch batch) {
  batch.nodes = batch.nodes.to(at::kDouble);
  batch.statics = batch.statics.to(at::kDouble);
  return batch;
}

at::Tensor Matrix(const std::vector<std::vector<double>>& rows) {
  at::Tensor result =
      torch::empty({static_cast<std::int64_t>(rows.size()),
                    static_cast<std::int64_t>(rows.at(0).size())},
                   at::kDouble);
  double* out = result.data_ptr<double>();
  for (const std::vector<double>& row : rows) {
    out = std::copy(row.begin(), row.end(), out);
  }
  return result;
}

double GradientError(const std::function<at::Tensor(const at::Tensor&)>& loss,
                     const at::Tensor& x) {
  constexpr double kStep = 1e-6;
  at::Tensor leaf = x.detach().clone().set_requires_grad(true);
  // A copy, because a layer may work in the place of its input.
  loss(leaf * 1).backward();
  const at::Tensor gradient = leaf.grad().contiguous().view(-1);
  const torch::NoGradGuard no_gradient;
  at::Tensor moved = x.detach().clone().contiguous();
  double* values = moved.data_ptr<double>();
  double largest = 0;
  for (std::int64_t k = 0; k < moved.numel(); ++k) {
    const double value = values[k];
    values[k] = value + kStep;
    const double above = loss(moved.clone()).item<double>();
    values[k] = value - kStep;
    const double below = loss(moved.clone()).item<double>();
    values[k] = value;
    const double slope = (above - below) / (2 * kStep);
    largest = std::max(largest, std::abs(slope - gradient[k].item<double>()));
  }
  return largest;
}

}  // namespace foretell::learned
