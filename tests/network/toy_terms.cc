#include "tests/network/toy_terms.h"

#include <ATen/ATen.h>

#include <random>

namespace foretell::learned {
namespace {

constexpr int kStatics = 2;

}  // namespace

const std::vector<float>& NoStatics() {
  static const std::vector<float> zeros(kStatics, 0);
  return zeros;
}

NetworkOptions TermOptions(TermSet terms) {
  const TermLayout layout = LayoutOf(terms);
  return {.kind = {.terms = terms},
          .node_features = layout.num_classes + layout.num_features,
          .static_features = kStatics + layout.num_totals,
          .hidden = 8,
          .graph_blocks = 2,
          .layers_per_block = 1,
          .outputs = 1};
}

std::shared_ptr<Network> TermNetworkOf(TermSet terms) {
  at::manual_seed(3);
  std::shared_ptr<Network> network = MakeNetwork(TermOptions(terms));
  network->eval();
  return network;
}

void RandomizeTerms(Network& network, bool with_classes) {
  const at::NoGradGuard no_gradients;
  for (auto& item : network.named_parameters()) {
    at::Tensor& value = item.value();
    const at::Tensor kept = value.clone();
    value.normal_(0, 0.3);
    if (item.key() != "terms.input.weight" || with_classes) continue;
    value.narrow(1, 0, kKernelLayout.num_classes)
        .copy_(kept.narrow(1, 0, kKernelLayout.num_classes));
  }
}

TermTable ToyKernels(const std::vector<std::int32_t>& classes,
                     const std::vector<float>& amounts, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  TermTable table{.classes = classes, .amounts = amounts};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (int f = 0; f < kKernelLayout.num_features; ++f) {
      table.features.push_back(normal(generator));
    }
  }
  table.totals.assign(static_cast<std::size_t>(kKernelLayout.num_totals), 0.1F);
  return table;
}

GraphBatch CollateTables(const std::vector<TermTable>& tables, TermSet terms) {
  std::vector<TermInput> inputs;
  for (const TermTable& table : tables) inputs.push_back({&table, NoStatics()});
  return CollateTerms(inputs, terms);
}

double PredictOne(Network& network, const TermTable& table, TermSet terms) {
  const at::NoGradGuard no_gradients;
  return network.forward(CollateTables({table}, terms)).item<double>();
}

void DescendTo(const at::Tensor& wanted, const GraphBatch& batch, int steps,
               Network& network) {
  for (int step = 0; step < steps; ++step) {
    at::Tensor loss = at::zeros({});
    for (const at::Tensor& one : network.TrainingForward(batch).supervised) {
      loss = loss + (one - wanted).square().mean();
    }
    network.zero_grad();
    loss.backward();
    const at::NoGradGuard no_gradients;
    for (at::Tensor& parameter : network.parameters()) {
      if (parameter.grad().defined()) parameter.sub_(0.03 * parameter.grad());
    }
  }
}

}  // namespace foretell::learned
