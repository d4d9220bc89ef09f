// What a layer or a whole network computes, for tests in other languages.
//
//     layer_tool < request.json > outputs.json
//
// A request has "kind", "weights" (parameter name → nested list of all its
// numbers in order) and "graphs", each with "nodes" (rows), "edges" (pairs of
// source and target) and "statics". With "hidden" it is about a network of that
// width with three outputs, else about one layer with "outputs" columns, whose
// input are the rows of all graphs. Nodes of a network are 32 wide, those of a
// layer as wide as they like. Outputs are rows of numbers.

#include <torch/torch.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/network/graph_layers.h"
#include "src/network/network.h"

namespace foretell::learned {
namespace {

using Json = nlohmann::json;

void AppendNumbers(const Json& value, std::vector<float>& numbers) {
  if (value.is_array()) {
    for (const Json& entry : value) AppendNumbers(entry, numbers);
  } else {
    numbers.push_back(value.get<float>());
  }
}

void SetWeights(torch::nn::Module& module, const Json& weights) {
  auto parameters = module.named_parameters();
  TORCH_CHECK(parameters.size() == weights.size(), "weights are missing");
  for (const auto& [name, value] : weights.items()) {
    std::vector<float> numbers;
    AppendNumbers(value, numbers);
    at::Tensor& parameter = parameters[name];
    parameter.copy_(torch::tensor(numbers).view(parameter.sizes()));
  }
}

GraphFeatures ReadGraph(const Json& json) {
  GraphFeatures graph;
  for (const Json& row : json.at("nodes")) {
    NodeFeatureRow& node = graph.nodes.emplace_back();
    // A layer's rows may be wider: it reads them from the request itself.
    for (std::size_t k = 0; k < std::min(row.size(), node.size()); ++k) {
      node[k] = row[k].get<float>();
    }
  }
  for (const Json& edge : json.at("edges")) {
    graph.sources.push_back(edge.at(0).get<std::int64_t>());
    graph.targets.push_back(edge.at(1).get<std::int64_t>());
  }
  return graph;
}

GraphBatch ReadBatch(const Json& json) {
  std::vector<GraphFeatures> graphs;
  std::vector<std::vector<float>> statics;
  for (const Json& graph : json) {
    graphs.push_back(ReadGraph(graph));
    statics.push_back(graph.at("statics").get<std::vector<float>>());
  }
  std::vector<GraphInput> inputs;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    inputs.push_back({&graphs[g], statics[g]});
  }
  return Collate(inputs);
}

at::Tensor RunLayer(const Json& request, const NetworkKind& kind,
                    const GraphBatch& batch) {
  std::vector<float> numbers;
  for (const Json& graph : request.at("graphs")) {
    AppendNumbers(graph.at("nodes"), numbers);
  }
  const at::Tensor x = torch::tensor(numbers).view({batch.num_nodes(), -1});
  const auto layer = MakeGraphLayer(kind.layer, x.size(1),
                                    request.at("outputs").get<std::int64_t>());
  SetWeights(*layer, request.at("weights"));
  return layer->forward(x, AggregationFor(kind.layer, batch));
}

at::Tensor RunNetwork(const Json& request, const NetworkKind& kind,
                      const GraphBatch& batch) {
  const auto network =
      MakeNetwork({.kind = kind,
                   .static_features = batch.statics.size(1),
                   .hidden = request.at("hidden").get<std::int64_t>()});
  SetWeights(*network, request.at("weights"));
  network->eval();
  return network->forward(batch);
}

Json Rows(const at::Tensor& matrix) {
  const at::Tensor values = matrix.contiguous();
  const float* data = values.const_data_ptr<float>();
  Json rows = Json::array();
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    const float* row = data + i * values.size(1);
    rows.push_back(std::vector<float>(row, row + values.size(1)));
  }
  return rows;
}

Json Answer(const Json& request) {
  const torch::NoGradGuard no_gradient;
  const NetworkKind kind =
      ParseNetworkKind(request.at("kind").get<std::string>()).value();
  const GraphBatch batch = ReadBatch(request.at("graphs"));
  return Rows(request.contains("hidden") ? RunNetwork(request, kind, batch)
                                         : RunLayer(request, kind, batch));
}

}  // namespace
}  // namespace foretell::learned

int main() {
  try {
    std::cout << foretell::learned::Answer(nlohmann::json::parse(std::cin));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "layer_tool: " << error.what() << '\n';
    return 1;
  }
}
