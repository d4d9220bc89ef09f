#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "foretell/graph.h"
#include "src/kernels/kernels.h"
#include "src/kernels/strides.h"

namespace foretell::cost {

/// What autocast cast to `id`; `id` itself where it did not.
ValueId BeforeAutocast(const OperatorGraph& graph, ValueId id);

/// How the tensors of a graph lie in memory when it runs in some mode. Starts
/// with the sources set and everything else contiguous; the code that expands a
/// node sets its results.
class TensorStates {
 public:
  TensorStates(const OperatorGraph& graph, const Run& mode);

  const Shape& ShapeOf(ValueId id) const { return graph_.value(id).type.shape; }
  bool IsFloat(ValueId id) const {
    return IsFloatingPoint(graph_.value(id).type.dtype);
  }
  /// True for views of a parameter or buffer, and for autocast's casts of one,
  /// too.
  bool IsWeight(ValueId id) const;

  /// Distinct elements: those of the shape, but never more than the storage
  /// holds (expanded tensors).
  std::int64_t Elements(ValueId id) const;
  std::int64_t Bytes(ValueId id) const {
    return Elements(id) * ElementBytes(id);
  }
  std::int64_t ElementBytes(ValueId id) const {
    return ByteWidth(graph_.value(id).type.dtype);
  }

  const Strides& StridesOf(ValueId id) const {
    return strides_[static_cast<std::size_t>(id)];
  }
  /// Throws Error(kInvalidArgument) that names the tensor for strides of
  /// another rank, or that lead further than 2^56 elements: readers of strides
  /// index by the shape, and multiply both.
  void SetStrides(ValueId id, Strides strides);
  bool IsContiguous(ValueId id) const {
    return cost::IsContiguous(ShapeOf(id), StridesOf(id));
  }
  bool IsChannelsLast(ValueId id) const {
    return cost::IsChannelsLast(ShapeOf(id), StridesOf(id));
  }

 private:
  const OperatorGraph& graph_;
  std::vector<Strides> strides_;
};

}  // namespace foretell::cost
