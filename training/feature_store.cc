#include "training/feature_store.h"

namespace foretell::training {
namespace {

std::int64_t BytesOf(const GraphFeatures& features) {
  const std::size_t bytes =
      features.nodes.size() * sizeof(NodeFeatureRow) +
      (features.sources.size() + features.targets.size()) *
          sizeof(std::int64_t) +
      sizeof(GraphFeatures);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

FeatureStore::FeatureStore(const std::string& dataset, std::int64_t cache_bytes)
    : dataset_(Dataset::Open(dataset)), cache_bytes_(cache_bytes) {}

std::shared_ptr<const GraphFeatures> FeatureStore::Get(RowId graph) {
  const std::lock_guard lock(mutex_);
  const auto found = by_graph_.find(graph);
  if (found != by_graph_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->features;
  }
  ++reads_;
  auto features =
      std::make_shared<const GraphFeatures>(dataset_.Features(graph));
  const std::int64_t bytes = BytesOf(*features);
  entries_.push_front({graph, features, bytes});
  by_graph_[graph] = entries_.begin();
  cached_bytes_ += bytes;
  Evict();
  return features;
}

void FeatureStore::Evict() {
  while (cached_bytes_ > cache_bytes_) {
    cached_bytes_ -= entries_.back().bytes;
    by_graph_.erase(entries_.back().graph);
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
