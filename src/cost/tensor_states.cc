#include "src/cost/tensor_states.h"

#include <algorithm>

namespace foretell::cost {
namespace {

std::int64_t SourceElementBytes(const Value& value, const ExecutionMode& mode) {
  const DType dtype = value.type.dtype;
  return mode.autocast && IsFloatingPoint(dtype) ? ByteWidth(DType::kF32)
                                                 : ByteWidth(dtype);
}

Strides SourceStrides(const Value& value, const ExecutionMode& mode) {
  const bool is_source = value.producer == kNone;
  return mode.channels_last && is_source ? ChannelsLastStrides(value.type.shape)
                                         : ContiguousStrides(value.type.shape);
}

}  // namespace

TensorStates::TensorStates(const OperatorGraph& graph,
                           const ExecutionMode& mode)
    : graph_(graph) {
  for (const Value& value : graph.values()) {
    element_bytes_.push_back(SourceElementBytes(value, mode));
    strides_.push_back(SourceStrides(value, mode));
  }
}

bool TensorStates::IsWeight(ValueId id) const {
  const StorageId storage = graph_.value(id).storage;
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
