#include "training/feature_store.h"

namespace foretell::training {
namespace {

std::int64_t BytesOf(const StoredFeatures& features) {
  const std::size_t bytes =
      features.nodes.size() * sizeof(NodeFeatureRow) +
      (features.sources.size() + features.targets.size()) *
          sizeof(std::int64_t) +
      (features.costs.columns.size() + features.costs.shares.size()) *
          sizeof(float) +
      sizeof(StoredFeatures);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

FeatureStore::FeatureStore(const std::string& dataset, std::int64_t cache_bytes,
                           const CostOptions& cost_options)
    : dataset_(Dataset::Open(dataset)),
      cache_bytes_(cache_bytes),
      cost_options_(cost_options) {}

std::shared_ptr<const StoredFeatures> FeatureStore::Get(
    RowId graph, const DeviceSpec* device) {
  const std::lock_guard lock(mutex_);
  const Key key(graph, device);
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->features;
  }
  ++reads_;
  auto features = std::make_shared<StoredFeatures>();
  static_cast<GraphFeatures&>(*features) = dataset_.Features(graph);
  if (device != nullptr) {
    features->costs =
        model::NodeCostsOf(dataset_.Graph(graph), *device, cost_options_);
  }
  const std::int64_t bytes = BytesOf(*features);
  entries_.push_front({key, features, bytes});
  by_key_[key] = entries_.begin();
  cached_bytes_ += bytes;
  Evict();
  return features;
}

void FeatureStore::Evict() {
  while (cached_bytes_ > cache_bytes_) {
    cached_bytes_ -= entries_.back().bytes;
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

std::int64_t FeatureStore::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return cached_bytes_;
}

std::int64_t FeatureStore::reads() const {
  const std::lock_guard lock(mutex_);
  return reads_;
}

}  // namespace foretell::training
