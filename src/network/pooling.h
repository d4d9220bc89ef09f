#pragma once

#include <optional>
#include <string_view>

namespace foretell::learned {

/// From nodes to a graph.
enum class Pooling {
  kSum,
  kMean,
  kMax,
  /// No pooling of embeddings: the head corrects each node's share of a prior,
  /// and the corrected shares are added up.
  kPrior,
};
std::string_view PoolingName(Pooling pooling);  ///< "sum", …, "prior".
std::optional<Pooling> ParsePooling(std::string_view name);

}  // namespace foretell::learned
