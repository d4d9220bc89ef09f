#include "src/kernels/tensor_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "foretell/error.h"
#include "src/core/checked.h"

namespace foretell::cost {
namespace {

/// Elements beyond which bytes and strides may leave int64.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 56;

std::int64_t SourceElementBytes(const Value& value, const Run& mode) {
  const DType dtype = value.type.dtype;
  return mode.autocast && IsFloatingPoint(dtype) ? ByteWidth(DType::kF32)
                                                 : ByteWidth(dtype);
}

Strides SourceStrides(const Value& value, const Run& mode) {
  const bool is_source = value.producer == kNone;
  return mode.channels_last && is_source ? ChannelsLastStrides(value.type.shape)
                                         : ContiguousStrides(value.type.shape);
}

}  // namespace

bool IsAutocastCast(const Node& node) {
  return node.kind == OpKind::kCast && node.Int(kAutocastAttribute, 0) != 0 &&
         !node.inputs.empty() && !node.outputs.empty();
}

ValueId BeforeAutocast(const OperatorGraph& graph, ValueId id) {
  const NodeId producer = graph.value(id).producer;
  if (producer == kNone || !IsAutocastCast(graph.node(producer))) return id;
  return graph.node(producer).inputs.front();
}

void RequireRepresentable(const std::string& name, const Shape& shape) {
  Shape counted = shape;
  for (std::int64_t& size : counted) size = std::max<std::int64_t>(size, 1);
  const std::optional<std::int64_t> elements = CheckedProduct(counted);
  if (elements && *elements <= kMaxElements) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("tensor '{}' has shape [{}], more than 2^56 elements",
                          name, fmt::join(shape, ",")));
}

TensorStates::TensorStates(const OperatorGraph& graph, const Run& mode)
    : graph_(graph) {
  for (const Value& value : graph.values()) {
    RequireRepresentable(value.name, value.type.shape);
    element_bytes_.push_back(SourceElementBytes(value, mode));
    strides_.push_back(SourceStrides(value, mode));
  }
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
