#pragma once

#include <cstdint>

#include "foretell/graph.h"
#include "src/kernels/strides.h"

namespace foretell::cost {

/// What autocast cast to `id`; `id` itself where it did not.
ValueId BeforeAutocast(const OperatorGraph& graph, ValueId id);

/// The tensors of a graph as kernels see them.
class Tensors {
 public:
  explicit Tensors(const OperatorGraph& graph) : graph_(graph) {}

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

  Strides StridesOf(ValueId id) const {
    return foretell::StridesOf(graph_.value(id));
  }
  bool IsContiguous(ValueId id) const {
    const Value& value = graph_.value(id);
    return value.strides.empty() ||
           foretell::IsContiguous(value.type.shape, value.strides);
  }
  /// As PyTorch's suggest_memory_format() has it, of images of two dimensions.
  bool IsChannelsLast(ValueId id) const {
    return foretell::IsChannelsLast(graph_.value(id));
  }

 private:
  const OperatorGraph& graph_;
};

}  // namespace foretell::cost
