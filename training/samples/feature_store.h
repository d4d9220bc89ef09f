#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "foretell/dataset.h"
#include "foretell/device.h"
#include "src/network/make_input.h"
#include "training/samples/byte_cache.h"

namespace foretell::training {

/// Identifies the input of a network for a graph on a device.
struct InputKey {
  RowId graph = 0;
  const DeviceSpec* device = nullptr;  ///< If the recipe needs one.
  Run run = {};                        ///< If it has terms of kernels.

  std::partial_ordering operator<=>(const InputKey&) const = default;
};

/// Network inputs for the graphs of a dataset, read on demand; keeps the most
/// recently used ones within `cache_bytes`. Thread-safe; one thread reads at a
/// time.
class FeatureStore {
 public:
  /// `context` is the recipe's, for terms of memory.
  FeatureStore(const std::string& dataset, std::int64_t cache_bytes,
               learned::InputRecipe recipe = {}, ContextModel context = {});

  /// Throws what Dataset::Graph, Dataset::Features and MakeInput throw.
  std::shared_ptr<const learned::NetworkInput> Get(const InputKey& request);

  const std::string& dataset() const { return dataset_.path(); }
  std::int64_t cached_bytes() const;
  std::int64_t reads() const;  ///< Number of reads from the file.

 private:
  mutable std::mutex mutex_;
  Dataset dataset_;
  learned::InputRecipe recipe_;
  ContextModel context_;
  std::int64_t reads_ = 0;
  ByteCache<InputKey, learned::NetworkInput> inputs_;
};

}  // namespace foretell::training
