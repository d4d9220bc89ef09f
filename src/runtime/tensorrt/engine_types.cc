#include "src/runtime/tensorrt/engine_types.h"

#include <algorithm>
#include <cstddef>

#include "src/graph/index_of.h"

namespace foretell::runtime {
namespace {

constexpr std::size_t kMatrixRank = 2;

/// Products by weights, for whose 8-bit kernels the builder looks.
bool MultipliesByWeights(const Layer& layer) {
  return layer.kind == LayerKind::kProduct ||
         layer.kind == LayerKind::kSiblings;
}

/// Storages whose floating-point tensors become i8: none if no layer multiplies
/// by weights. What recurrent layers read and write stays: IRNNv2Layer had no
/// kernels of 8 bits (TensorRT's support matrix), and the loops that replaced
/// it are priced like it.
std::vector<bool> Int8Storages(const OperatorGraph& graph,
                               const EnginePlan& plan) {
  std::vector<bool> is_int8(graph.storages().size(), false);
  if (!std::ranges::any_of(plan.layers, MultipliesByWeights)) return is_int8;
  const auto storage_of = [&](ValueId id) {
    return IndexOf(graph.value(id).storage);
  };
  const auto mark_weight = [&](NodeId id) {
    for (const ValueId input : graph.node(id).inputs) {
      const bool is_matrix =
          graph.value(input).type.shape.size() >= kMatrixRank;
      if (is_matrix && plan.is_constant[IndexOf(input)]) {
        is_int8[storage_of(input)] = true;
      }
    }
  };
  for (const Layer& layer : plan.layers) {
    for (const NodeId id : layer.nodes) {
      for (const ValueId output : graph.node(id).outputs) {
        is_int8[storage_of(output)] = true;
      }
    }
    if (layer.kind == LayerKind::kProduct) mark_weight(layer.anchor);
    if (layer.kind == LayerKind::kSiblings) {
      std::ranges::for_each(layer.nodes, mark_weight);
    }
  }
  for (const Node& node : graph.nodes()) {
    if (node.kind != OpKind::kRecurrent) continue;
    for (const ValueId id : node.inputs) is_int8[storage_of(id)] = false;
    for (const ValueId id : node.outputs) is_int8[storage_of(id)] = false;
  }
  for (const ValueId id : graph.inputs()) is_int8[storage_of(id)] = false;
  for (const ValueId id : graph.outputs()) is_int8[storage_of(id)] = false;
  return is_int8;
}

}  // namespace

EngineTypes::EngineTypes(const OperatorGraph& graph, const EnginePlan& plan,
                         const RuntimeSpec& spec)
    : graph_(graph),
      is_int8_(spec.int8 ? Int8Storages(graph, plan)
                         : std::vector<bool>(graph.storages().size(), false)),
      dtype_of_(graph.storages().size(), DType::kI8) {
  for (std::size_t i = graph.values().size(); i-- > 0;) {
    const Value& value = graph.values()[i];
    dtype_of_[IndexOf(value.storage)] = value.type.dtype;
  }
}

TensorType EngineTypes::TypeOf(ValueId id) const {
  const Value& value = graph_.value(id);
  TensorType type = value.type;
  if (is_int8_[IndexOf(value.storage)] && IsFloatingPoint(type.dtype)) {
    type.dtype = DType::kI8;
  }
  return type;
}

std::int64_t EngineTypes::BytesOf(StorageId id) const {
  const std::int64_t bytes = graph_.storage(id).bytes;
  const DType dtype = dtype_of_[IndexOf(id)];
  return is_int8_[IndexOf(id)] && IsFloatingPoint(dtype)
             ? bytes / ByteWidth(dtype)
             : bytes;
}

}  // namespace foretell::runtime
