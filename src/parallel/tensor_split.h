#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "foretell/graph.h"

namespace foretell::parallel {

/// How GPUs share a tensor: one dimension consists of runs of `period`
/// elements, and every GPU has an equal part of each run, in order. A fused
/// projection to queries, keys and values has three runs.
struct Split {
  std::int32_t dim = 0;
  std::int64_t period = 0;

  bool operator==(const Split&) const = default;
};

using Shape = std::vector<std::int64_t>;

/// The split of a tensor of shape `to` whose elements are, in their order,
/// those of one of shape `from`; empty if no dimension has whole runs.
std::optional<Split> ReshapedSplit(const Shape& from, const Split& split,
                                   const Shape& to);

/// Known splits of the tensors of a graph. A rule derives splits of a node's
/// operands and results from the others.
class SplitBoard {
 public:
  explicit SplitBoard(const OperatorGraph& graph)
      : graph_(graph), splits_(graph.values().size()) {}
  virtual ~SplitBoard() = default;

  const OperatorGraph& graph() const { return graph_; }
  const Shape& ShapeOf(ValueId id) const { return graph_.value(id).type.shape; }
  const std::optional<Split>& At(ValueId id) const {
    return splits_[static_cast<std::size_t>(id)];
  }
  /// Returns false if the tensor cannot have this split, or has another.
  virtual bool Demand(ValueId id, const Split& split);

 protected:
  void Clear(ValueId id) { splits_[static_cast<std::size_t>(id)].reset(); }

 private:
  const OperatorGraph& graph_;
  std::vector<std::optional<Split>> splits_;  ///< By value.
};

}  // namespace foretell::parallel
