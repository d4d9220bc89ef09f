#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "foretell/dataset.h"

namespace foretell::training {

/// Nodes and edges of a dataset's graphs, read when asked for; those used last
/// are kept as long as they fit `cache_bytes`. Safe to use from several
/// threads, one of which reads at a time.
class FeatureStore {
 public:
  FeatureStore(const std::string& dataset, std::int64_t cache_bytes);

  /// Throws what Dataset::Features throws.
  std::shared_ptr<const GraphFeatures> Get(RowId graph);

  const std::string& dataset() const { return dataset_.path(); }
  std::int64_t cached_bytes() const;
  std::int64_t reads() const;  ///< How often the file was read.

 private:
  struct Entry {
    RowId graph;
    std::shared_ptr<const GraphFeatures> features;
    std::int64_t bytes;
  };

  void Evict();

  mutable std::mutex mutex_;
  Dataset dataset_;
  std::int64_t cache_bytes_;
  std::int64_t cached_bytes_ = 0;
  std::int64_t reads_ = 0;
  std::list<Entry> entries_;  ///< Used last first.
  std::unordered_map<RowId, std::list<Entry>::iterator> by_graph_;
};

}  // namespace foretell::training
