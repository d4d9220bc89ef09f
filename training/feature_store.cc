#include "training/feature_store.h"

#include "src/model/graph_batch.h"

namespace foretell::training {
namespace {

template <typename Element>
std::size_t BytesOf(const std::vector<Element>& elements) {
  return elements.size() * sizeof(Element);
}

std::int64_t BytesOf(const StoredFeatures& features) {
  return static_cast<std::int64_t>(
      BytesOf(features.nodes) + BytesOf(features.sources) +
      BytesOf(features.targets) + BytesOf(features.costs.columns) +
      BytesOf(features.costs.shares) + sizeof(StoredFeatures));
}

std::int64_t BytesOf(const model::TermTable& terms) {
  return static_cast<std::int64_t>(
      BytesOf(terms.classes) + BytesOf(terms.features) +
      BytesOf(terms.amounts) + BytesOf(terms.totals) +
      sizeof(model::TermTable));
}

}  // namespace

FeatureStore::FeatureStore(const std::string& dataset, std::int64_t cache_bytes,
                           const FeatureStoreOptions& options)
    : dataset_(Dataset::Open(dataset)),
      options_(options),
      features_(cache_bytes),
      terms_(cache_bytes) {}

std::shared_ptr<const StoredFeatures> FeatureStore::Get(
    RowId graph, const DeviceSpec* device) {
  const std::lock_guard lock(mutex_);
  const std::pair key(graph, device);
  if (auto kept = features_.Find(key)) return kept;
  ++reads_;
  auto features = std::make_shared<StoredFeatures>();
  static_cast<GraphFeatures&>(*features) = dataset_.Features(graph);
  if (options_.edges == EdgeKind::kChain) model::JoinAsChain(*features);
  if (device != nullptr) {
    features->costs = model::NodeCostsOf(
        dataset_.Graph(graph), *device,
        {.dispatch_scale = DispatchScale(options_.host)});
  }
  features_.Put(key, features, BytesOf(*features));
  return features;
}

std::shared_ptr<const model::TermTable> FeatureStore::Terms(
    const TermRequest& request) {
  const std::lock_guard lock(mutex_);
  if (auto kept = terms_.Find(request)) return kept;
  ++reads_;
  const OperatorGraph graph = dataset_.Graph(request.graph);
  auto terms = std::make_shared<model::TermTable>(
      model::MakeTerms(request.kind, graph,
                       {*request.device, request.run, options_.context}));
  terms_.Put(request, terms, BytesOf(*terms));
  return terms;
}

std::int64_t FeatureStore::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return features_.bytes() + terms_.bytes();
}

std::int64_t FeatureStore::reads() const {
  const std::lock_guard lock(mutex_);
  return reads_;
}

}  // namespace foretell::training
