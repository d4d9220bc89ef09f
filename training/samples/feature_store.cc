#include "training/samples/feature_store.h"

#include <optional>
#include <utility>

namespace foretell::training {
namespace {

template <typename Element>
std::size_t BytesOf(const std::vector<Element>& elements) {
  return elements.size() * sizeof(Element);
}

std::int64_t BytesOf(const learned::NetworkInput& input) {
  const GraphFeatures& features = input.features;
  const learned::TermTable& terms = input.terms;
  return static_cast<std::int64_t>(
      BytesOf(features.nodes) + BytesOf(features.sources) +
      BytesOf(features.targets) + BytesOf(input.costs.columns) +
      BytesOf(input.costs.shares) + BytesOf(terms.classes) +
      BytesOf(terms.features) + BytesOf(terms.amounts) + BytesOf(terms.totals) +
      BytesOf(terms.sources) + BytesOf(terms.targets) +
      sizeof(learned::NetworkInput));
}

/// A row of a dataset, which stores features in addition to the graph.
class StoredGraph : public learned::GraphSource {
 public:
  StoredGraph(const Dataset& dataset, RowId row)
      : dataset_(dataset), row_(row) {}

  const OperatorGraph& Graph() override {
    if (!graph_) graph_.emplace(dataset_.Graph(row_));
    return *graph_;
  }
  GraphFeatures Features() override { return dataset_.Features(row_); }

 private:
  const Dataset& dataset_;
  RowId row_;
  std::optional<OperatorGraph> graph_;
};

}  // namespace

FeatureStore::FeatureStore(const std::string& dataset, std::int64_t cache_bytes,
                           learned::InputRecipe recipe, ContextModel context)
    : dataset_(Dataset::Open(dataset)),
      recipe_(std::move(recipe)),
      context_(std::move(context)),
      inputs_(cache_bytes) {}

std::shared_ptr<const learned::NetworkInput> FeatureStore::Get(
    const InputKey& request) {
  const std::lock_guard lock(mutex_);
  if (auto kept = inputs_.Find(request)) return kept;
  ++reads_;
  StoredGraph graph(dataset_, request.graph);
  auto input = std::make_shared<learned::NetworkInput>(
      MakeInput(graph, {request.device, request.run, context_}, recipe_));
  inputs_.Put(request, input, BytesOf(*input));
  return input;
}

std::int64_t FeatureStore::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return inputs_.bytes();
}

std::int64_t FeatureStore::reads() const {
  const std::lock_guard lock(mutex_);
  return reads_;
}

}  // namespace foretell::training
