#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "foretell/dataset.h"
#include "foretell/device.h"
#include "src/model/node_costs.h"

namespace foretell::training {

/// A graph as it is kept.
struct StoredFeatures : GraphFeatures {
  model::NodeCosts costs;  ///< Empty without a device.
};

/// Nodes and edges of a dataset's graphs, read when asked for; those used last
/// are kept as long as they fit `cache_bytes`. Safe to use from several
/// threads, one of which reads at a time.
class FeatureStore {
 public:
  /// `cost_options` are for graphs that are asked for with a device.
  FeatureStore(const std::string& dataset, std::int64_t cache_bytes,
               const CostOptions& cost_options = {});

  /// With `device`, what each node costs on it too. Throws what
  /// Dataset::Features and NodeCostsOf throw.
  std::shared_ptr<const StoredFeatures> Get(RowId graph,
                                            const DeviceSpec* device = nullptr);

  const std::string& dataset() const { return dataset_.path(); }
  std::int64_t cached_bytes() const;
  std::int64_t reads() const;  ///< How often the file was read.

 private:
  using Key = std::pair<RowId, const DeviceSpec*>;

  struct Entry {
    Key key;
    std::shared_ptr<const StoredFeatures> features;
    std::int64_t bytes;
  };

  void Evict();

  mutable std::mutex mutex_;
  Dataset dataset_;
  std::int64_t cache_bytes_;
  CostOptions cost_options_;
  std::int64_t cached_bytes_ = 0;
  std::int64_t reads_ = 0;
  std::list<Entry> entries_;  ///< Used last first.
  std::map<Key, std::list<Entry>::iterator> by_key_;
};

}  // namespace foretell::training
