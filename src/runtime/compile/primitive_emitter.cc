#include "src/runtime/compile/primitive_emitter.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "src/graph/attributes.h"
#include "src/graph/convolution.h"
#include "src/graph/index_of.h"

namespace foretell::runtime {
namespace {

constexpr std::size_t kImageRank = 4;

}  // namespace

PrimitiveEmitter::PrimitiveEmitter(const OperatorGraph& graph, GraphInfo info,
                                   bool channels_last,
                                   const std::vector<bool>& left_out)
    : graph_(graph),
      builder_(std::move(info)),
      channels_last_(channels_last),
      value_of_(graph.values().size(), kNone),
      storage_of_(graph.storages().size(), kNone) {
  builder_.SetParameterElements(graph.ParameterElements());
  for (ValueId id = 0; id < std::ssize(graph.values()); ++id) {
    const Value& value = graph.value(id);
    const bool is_left_out = !left_out.empty() && left_out[IndexOf(id)];
    if (value.producer != kNone || is_left_out) continue;
    const ValueId now = builder_.AddSource(
        value.name, value.type, StorageNow(value.storage), value.strides);
    Set(id, now);
  }
}

StorageId PrimitiveEmitter::StorageNow(StorageId id) {
  StorageId& now = storage_of_[IndexOf(id)];
  if (now == kNone) {
    const Storage& storage = graph_.storage(id);
    now = builder_.AddStorage(storage.bytes, storage.role, storage.label);
  }
  return now;
}

ValueId PrimitiveEmitter::Now(ValueId id) const {
  return value_of_[IndexOf(id)];
}

void PrimitiveEmitter::Set(ValueId id, ValueId now) {
  value_of_[IndexOf(id)] = now;
  const StorageId storage = graph_.value(id).storage;
  if (now != kNone && builder_.value(now).producer != kNone &&
      graph_.storage(storage).role == TensorRole::kGradient) {
    builder_.SetRole(builder_.value(now).storage, TensorRole::kGradient);
  }
}

ValueId PrimitiveEmitter::AddConstant(TensorType type, Strides strides) {
  const StorageId storage =
      builder_.AddStorage(type.Bytes(), TensorRole::kBuffer);
  // No name of the step's: JoinRegions finds its sources by those.
  return builder_.AddSource(fmt::format("_frozen_param{}", storage),
                            std::move(type), storage, std::move(strides));
}

void PrimitiveEmitter::Begin(const Node& node) { node_ = &node; }

void PrimitiveEmitter::ShareStorage(ValueId made, ValueId of) {
  const StorageId storage = graph_.value(made).storage;
  const StorageId shared = StorageNow(graph_.value(of).storage);
  storage_of_[IndexOf(storage)] = shared;
  const TensorRole role = graph_.storage(storage).role;
  const TensorRole before = builder_.storage(shared).role;
  if (role == TensorRole::kGradient || before == TensorRole::kActivation ||
      before == TensorRole::kBackwardTemporary) {
    builder_.SetRole(shared, role);
  }
}

StorageId PrimitiveEmitter::AddStorage(const TensorType& type) {
  return builder_.AddStorage(type.Bytes(),
                             node_->phase == Phase::kForward
                                 ? TensorRole::kActivation
                                 : TensorRole::kBackwardTemporary);
}

Strides PrimitiveEmitter::StridesFor(std::string_view target,
                                     std::span<const ValueId> inputs,
                                     const TensorType& type) const {
  if (!channels_last_ || type.shape.size() != kImageRank) return {};
  if (IsConvolution(OpKindOf(target))) return ChannelsLastStrides(type.shape);
  const bool follows = std::ranges::any_of(inputs, [&](ValueId id) {
    return TypeOf(id).shape.size() == kImageRank &&
           IsChannelsLast(builder_.value(id));
  });
  return follows ? ChannelsLastStrides(type.shape) : Strides();
}

std::vector<ValueId> PrimitiveEmitter::EmitAll(
    std::string target, std::vector<ValueId> inputs,
    const std::vector<TensorType>& types, Attributes attributes) {
  std::vector<Strides> strides;
  for (const TensorType& type : types) {
    strides.push_back(StridesFor(target, inputs, type));
  }
  const NodeId node = builder_.AddNode({.target = std::move(target),
                                        .inputs = std::move(inputs),
                                        .attributes = std::move(attributes),
                                        .scope = node_->scope,
                                        .phase = node_->phase});
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < types.size(); ++i) {
    results.push_back(builder_.AddResult(
        node, {}, types[i], AddStorage(types[i]), std::move(strides[i])));
  }
  return results;
}

ValueId PrimitiveEmitter::Emit(std::string target, std::vector<ValueId> inputs,
                               TensorType type, Attributes attributes) {
  return EmitAll(std::move(target), std::move(inputs), {std::move(type)},
                 std::move(attributes))
      .front();
}

ValueId PrimitiveEmitter::EmitLike(std::string target,
                                   std::vector<ValueId> inputs, ValueId like,
                                   Attributes attributes) {
  const Value& value = graph_.value(like);
  const NodeId node = builder_.AddNode({.target = std::move(target),
                                        .inputs = std::move(inputs),
                                        .attributes = std::move(attributes),
                                        .scope = node_->scope,
                                        .phase = node_->phase});
  return builder_.AddResult(node, {}, value.type, AddStorage(value.type),
                            value.strides);
}

ValueId PrimitiveEmitter::Clone(ValueId of, bool channels_last) {
  const TensorType type = TypeOf(of);
  const NodeId node = builder_.AddNode({.target = "clone",
                                        .inputs = {of},
                                        .scope = node_->scope,
                                        .phase = node_->phase});
  return builder_.AddResult(
      node, {}, type, AddStorage(type),
      channels_last ? ChannelsLastStrides(type.shape) : Strides());
}

ValueId PrimitiveEmitter::View(ValueId of, TensorType type, std::string target,
                               Attributes attributes) {
  const StorageId storage = builder_.value(of).storage;
  const NodeId node = builder_.AddNode({.target = std::move(target),
                                        .inputs = {of},
                                        .attributes = std::move(attributes),
                                        .scope = node_->scope,
                                        .phase = node_->phase});
  return builder_.AddResult(node, {}, std::move(type), storage);
}

ValueId PrimitiveEmitter::FirstOf(ValueId of, TensorType type) {
  const Value value = builder_.value(of);
  Strides strides = RecordedStrides(type.shape, foretell::StridesOf(value));
  const NodeId node = builder_.AddNode({.target = "view",
                                        .inputs = {of},
                                        .scope = node_->scope,
                                        .phase = node_->phase});
  return builder_.AddResult(node, {}, std::move(type), value.storage,
                            std::move(strides));
}

ValueId PrimitiveEmitter::EmitSlice(ValueId whole, ValueId of) {
  const Value& value = graph_.value(whole);
  TensorType type{value.type.dtype, TypeOf(of).shape};
  Strides strides =
      IsChannelsLast(value) ? ChannelsLastStrides(type.shape) : Strides();
  const NodeId node = builder_.AddNode({.target = "clone",
                                        .inputs = {of},
                                        .scope = node_->scope,
                                        .phase = node_->phase});
  return builder_.AddResult(node, {}, std::move(type),
                            StorageNow(value.storage), std::move(strides));
}

ValueId PrimitiveEmitter::EmitInto(ValueId into, std::string target,
                                   std::vector<ValueId> inputs,
                                   Attributes attributes) {
  const Value value = builder_.value(into);
  const NodeId node = builder_.AddNode({.target = std::move(target),
                                        .inputs = std::move(inputs),
                                        .attributes = std::move(attributes),
                                        .scope = node_->scope,
                                        .phase = node_->phase});
  return builder_.AddResult(node, {}, value.type, value.storage, value.strides);
}

void PrimitiveEmitter::CopyFunctional(const Node& node, std::string target) {
  std::vector<ValueId> inputs;
  std::vector<TensorType> types;
  for (const ValueId id : node.inputs) inputs.push_back(Now(id));
  for (const ValueId id : node.outputs) types.push_back(graph_.value(id).type);
  const std::vector<ValueId> results =
      EmitAll(std::move(target), std::move(inputs), types, node.attributes);
  for (std::size_t i = 0; i < results.size(); ++i) {
    Set(node.outputs[i], results[i]);
  }
}

Strides PrimitiveEmitter::PermutedStrides(
    const Node& node, const std::vector<ValueId>& inputs) const {
  if (!channels_last_ || node.target != "permute" || inputs.empty()) return {};
  const Value& from = builder_.value(inputs.front());
  const auto order = PermutationOf(node, "dims", from.type.shape.size());
  if (!order) return {};
  const Strides before = foretell::StridesOf(from);
  Strides strides;
  for (const std::size_t dim : *order) strides.push_back(before[dim]);
  return strides;
}

void PrimitiveEmitter::Copy(const Node& node, bool with_calls) {
  std::vector<ValueId> inputs;
  for (const ValueId id : node.inputs) inputs.push_back(Now(id));
  const NodeId added = builder_.AddNode({.target = node.target,
                                         .inputs = inputs,
                                         .attributes = node.attributes,
                                         .scope = node_->scope,
                                         .phase = node_->phase});
  for (const ValueId id : node.outputs) {
    const Value& value = graph_.value(id);
    const auto shared = std::ranges::find_if(node.inputs, [&](ValueId input) {
      return graph_.value(input).storage == value.storage;
    });
    const StorageId storage = shared == node.inputs.end()
                                  ? StorageNow(value.storage)
                                  : builder_.value(Now(*shared)).storage;
    Strides strides = PermutedStrides(node, inputs);
    if (strides.empty()) strides = value.strides;
    if (strides.empty()) strides = StridesFor(node.target, inputs, value.type);
    Set(id,
        builder_.AddResult(added, {}, value.type, storage, std::move(strides)));
  }
  if (with_calls) CopyCalls(node, added);
}

ValueId PrimitiveEmitter::NowOrInner(NodeId added, ValueId id) {
  if (Now(id) == kNone) {
    const Value& value = graph_.value(id);
    Set(id, builder_.AddInner(added, {}, value.type, StorageNow(value.storage),
                              value.strides));
  }
  return Now(id);
}

void PrimitiveEmitter::CopyCalls(const Node& node, NodeId added) {
  for (const Node& call : node.calls) {
    NodeSpec spec{
        .target = call.target, .inputs = {}, .attributes = call.attributes};
    // What no call made is allocated inside: a mask that a call fills.
    for (const ValueId id : call.inputs) {
      spec.inputs.push_back(NowOrInner(added, id));
    }
    std::vector<ValueId> results;
    for (const ValueId id : call.outputs) {
      results.push_back(NowOrInner(added, id));
    }
    builder_.AddCall(added, std::move(spec), std::move(results));
  }
}

NodeId PrimitiveEmitter::AddKernel(std::string target,
                                   std::vector<ValueId> inputs,
                                   const std::vector<ValueId>& results,
                                   Attributes attributes) {
  const NodeId added = builder_.AddNode({.target = std::move(target),
                                         .inputs = std::move(inputs),
                                         .attributes = std::move(attributes),
                                         .scope = node_->scope,
                                         .phase = node_->phase});
  kernel_storage_ = StorageNow(graph_.value(results.front()).storage);
  for (const ValueId id : results) {
    const Value& value = graph_.value(id);
    Set(id, builder_.AddResult(added, {}, value.type, StorageNow(value.storage),
                               value.strides));
  }
  return added;
}

void PrimitiveEmitter::AddInside(NodeId added, const Node& node,
                                 std::vector<ValueId> inputs) {
  std::vector<ValueId> results;
  for (const ValueId id : node.outputs) {
    ValueId now = Now(id);
    if (now == kNone || builder_.value(now).producer != added) {
      now = Inside(added, id);
    }
    results.push_back(now);
  }
  builder_.AddCall(added,
                   {.target = node.target,
                    .inputs = std::move(inputs),
                    .attributes = node.attributes},
                   std::move(results));
}

ValueId PrimitiveEmitter::Inside(NodeId added, ValueId id) {
  const auto [place, is_new] = inside_.try_emplace(id, kNone);
  if (is_new) {
    const Value& value = graph_.value(id);
    // It has no memory.
    place->second = builder_.AddInner(added, {}, value.type, kernel_storage_,
                                      value.strides);
  }
  return place->second;
}

OperatorGraph PrimitiveEmitter::Finish() {
  for (const ValueId id : graph_.inputs()) builder_.MarkInput(Now(id));
  for (const ValueId id : graph_.outputs()) builder_.MarkOutput(Now(id));
  builder_.DeriveLifetimes();
  return builder_.Build();
}

}  // namespace foretell::runtime
