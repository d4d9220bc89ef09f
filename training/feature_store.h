#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "foretell/dataset.h"
#include "foretell/device.h"
#include "src/model/node_costs.h"
#include "src/model/terms.h"
#include "training/byte_cache.h"

namespace foretell::training {

/// A graph as it is kept.
struct StoredFeatures : GraphFeatures {
  model::NodeCosts costs;  ///< Empty without a device.
};

/// Which edges networks see.
enum class EdgeKind {
  kDataFlow,  ///< From producers to consumers.
  kChain,     ///< From every node to the next one, as DIPPM's released code.
};

/// What beside the graph decides features and terms.
struct FeatureStoreOptions {
  EdgeKind edges = EdgeKind::kDataFlow;
  Host host = Host::kCpp;     ///< For graphs asked for with a device.
  ContextModel context = {};  ///< For terms of TermKind::kReplay.
};

/// A graph as terms, on a device.
struct TermRequest {
  RowId graph = 0;
  const DeviceSpec* device = nullptr;
  model::TermKind kind = model::TermKind::kKernels;
  Run run = {};  ///< For kernels.

  auto operator<=>(const TermRequest&) const = default;
};

/// Graphs of a dataset as networks see them, read when asked for; those used
/// last are kept as long as they fit `cache_bytes`. Safe to use from several
/// threads, one of which reads at a time.
class FeatureStore {
 public:
  FeatureStore(const std::string& dataset, std::int64_t cache_bytes,
               const FeatureStoreOptions& options = {});

  /// Nodes and edges; with `device`, what each node costs on it too. Throws
  /// what Dataset::Features and NodeCostsOf throw.
  std::shared_ptr<const StoredFeatures> Get(RowId graph,
                                            const DeviceSpec* device = nullptr);

  /// Throws what Dataset::Graph and the maker of the terms throw.
  std::shared_ptr<const model::TermTable> Terms(const TermRequest& request);

  const std::string& dataset() const { return dataset_.path(); }
  std::int64_t cached_bytes() const;
  std::int64_t reads() const;  ///< How often the file was read.

 private:
  mutable std::mutex mutex_;
  Dataset dataset_;
  FeatureStoreOptions options_;
  std::int64_t reads_ = 0;
  ByteCache<std::pair<RowId, const DeviceSpec*>, StoredFeatures> features_;
  ByteCache<TermRequest, model::TermTable> terms_;
};

}  // namespace foretell::training
