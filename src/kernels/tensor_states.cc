#include "src/kernels/tensor_states.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "foretell/error.h"
#include "src/graph/attributes.h"
#include "src/graph/limits.h"

namespace foretell::cost {
namespace {

Strides SourceStrides(const Value& value, const Run& mode) {
  const bool is_source = value.producer == kNone;
  return mode.channels_last && is_source ? ChannelsLastStrides(value.type.shape)
                                         : ContiguousStrides(value.type.shape);
}

/// A dimension of one element leads nowhere, whatever its stride.
bool StaysWithinLimits(const Shape& shape, const Strides& strides) {
  std::int64_t last = 0;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] <= 1) continue;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(shape[dim], strides[dim], &reach) ||
        __builtin_add_overflow(last, reach, &last) || last > kMaxElements) {
      return false;
    }
  }
  return true;
}

/// True for a cast that autocast made while the graph was traced.
bool IsAutocastCast(const Node& node) {
  return node.kind == OpKind::kCast && FlagOf(node, kAutocastAttribute) &&
         !node.inputs.empty() && !node.outputs.empty();
}

}  // namespace

ValueId BeforeAutocast(const OperatorGraph& graph, ValueId id) {
  const NodeId producer = graph.value(id).producer;
  if (producer == kNone || !IsAutocastCast(graph.node(producer))) return id;
  return graph.node(producer).inputs.front();
}

TensorStates::TensorStates(const OperatorGraph& graph, const Run& mode)
    : graph_(graph) {
  for (const Value& value : graph.values()) {
    strides_.push_back(SourceStrides(value, mode));
  }
}

void TensorStates::SetStrides(ValueId id, Strides strides) {
  const Shape& shape = ShapeOf(id);
  if (strides.size() != shape.size() || !StaysWithinLimits(shape, strides)) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("tensor '{}' of shape [{}] cannot have strides "
                            "[{}]",
                            graph_.value(id).name, fmt::join(shape, ","),
                            fmt::join(strides, ",")));
  }
  strides_[static_cast<std::size_t>(id)] = std::move(strides);
}

bool TensorStates::IsWeight(ValueId id) const {
  const StorageId storage = graph_.value(BeforeAutocast(graph_, id)).storage;
  if (storage == kNone) return false;
  const TensorRole role = graph_.storage(storage).role;
  return role == TensorRole::kParameter || role == TensorRole::kBuffer;
}

std::int64_t TensorStates::Elements(ValueId id) const {
  const Value& value = graph_.value(id);
  const std::int64_t elements = value.type.NumElements();
  if (value.storage == kNone) return elements;
  return std::min(elements, graph_.storage(value.storage).bytes /
                                ByteWidth(value.type.dtype));
}

}  // namespace foretell::cost
