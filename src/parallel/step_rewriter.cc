#include "src/parallel/step_rewriter.h"

#include <numeric>
#include <utility>

#include "src/graph/collective.h"
#include "src/graph/copy_calls.h"
#include "src/graph/node_events.h"

namespace foretell::parallel {
namespace {

using Kind = MemoryEvent::Kind;

/// Storages that are born and freed before the first node and that nothing
/// names.
std::vector<bool> LeftByEarlierStep(const OperatorGraph& graph) {
  std::vector<bool> is_left(graph.storages().size(), false);
  for (const MemoryEvent& event : graph.events()) {
    if (event.node == kNone && event.kind == Kind::kFree) {
      is_left[IndexOf(event.storage)] = true;
    }
  }
  for (const Value& value : graph.values()) {
    is_left[IndexOf(value.storage)] = false;
  }
  return is_left;
}

}  // namespace

StepRewriter::StepRewriter(const OperatorGraph& graph, const ParallelSpec& spec)
    : graph_(graph),
      spec_(spec),
      builder_(graph.info()),
      value_of_(graph.values().size(), kNone),
      storage_of_(graph.storages().size(), kNone) {
  builder_.SetParameterElements(graph.ParameterElements());
  for (const Value& value : graph.values()) names_.insert(value.name);
}

std::optional<std::int64_t> StepRewriter::BytesOf(StorageId id) const {
  return graph_.storage(id).bytes;
}

TensorType StepRewriter::TypeOf(ValueId id) const {
  return graph_.value(id).type;
}

Strides StepRewriter::StridesOf(ValueId id) const {
  return StridesOfPart(graph_.value(id), TypeOf(id).shape);
}

std::vector<NodeId> StepRewriter::Order() const {
  std::vector<NodeId> order(graph_.nodes().size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

OperatorGraph StepRewriter::Rewrite() {
  AddStorages();
  AddSources();
  Begin();
  PlayEvents(kNone);
  for (const NodeId id : Order()) {
    BeforeNode(id);
    AddNode(id);
    PlayEvents(id);
    AfterNode(id);
  }
  MarkEnds();
  return builder_.Build();
}

std::vector<TrainedParameter> StepRewriter::TrainedNow(
    std::span<const TrainedParameter> trained) const {
  std::vector<TrainedParameter> here;
  for (const TrainedParameter& one : trained) {
    const StorageId parameter = StorageNow(one.parameter);
    if (parameter == kNone || one.gradient == kNone) continue;
    here.push_back(
        {.parameter = parameter, .gradient = StorageNow(one.gradient)});
  }
  return here;
}

void StepRewriter::AddStorages() {
  const std::vector<bool> is_left = LeftByEarlierStep(graph_);
  for (StorageId id = 0; id < std::ssize(graph_.storages()); ++id) {
    const std::optional<std::int64_t> bytes = BytesOf(id);
    if (!bytes || is_left[IndexOf(id)]) continue;
    const Storage& storage = graph_.storage(id);
    SetStorage(id, builder_.AddStorage(*bytes, storage.role, storage.label));
  }
}

void StepRewriter::AddSources() {
  for (ValueId id = 0; id < std::ssize(graph_.values()); ++id) {
    const Value& value = graph_.value(id);
    if (value.producer != kNone || StorageNow(value.storage) == kNone) continue;
    SetValue(id, builder_.AddSource(value.name, TypeOf(id),
                                    StorageNow(value.storage), StridesOf(id)));
  }
}

void StepRewriter::PlayEvents(NodeId id) {
  for (const MemoryEvent& event : EventsOf(graph_, id)) {
    const StorageId storage = StorageNow(event.storage);
    if (storage == kNone || !Keeps(event)) continue;
    event.kind == Kind::kAllocate ? builder_.Allocate(storage, Current())
                                  : builder_.Free(storage, Current());
  }
}

void StepRewriter::AddNode(NodeId id) {
  const Node& node = graph_.node(id);
  NodeSpec spec{.target = node.target,
                .inputs = {},
                .attributes = AttributesOf(id),
                .scope = node.scope,
                .phase = node.phase};
  std::vector<std::size_t> results;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (HasResult(node, i)) results.push_back(i);
  }
  if (results.empty() && !node.outputs.empty()) return;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (HasOperand(node, i)) spec.inputs.push_back(ValueNow(node.inputs[i]));
  }
  const bool is_read = !spec.inputs.empty() || node.inputs.empty();
  if (node.outputs.empty() && !is_read) return;
  const NodeId added = builder_.AddNode(std::move(spec));
  for (const std::size_t i : results) {
    const ValueId output = node.outputs[i];
    const Value& value = graph_.value(output);
    SetValue(output,
             builder_.AddResult(added, NameNow(value.name), TypeOf(output),
                                StorageNow(value.storage), StridesOf(output)));
  }
  if (IsWhole(node)) AddCalls(id, added);
}

bool StepRewriter::IsWhole(const Node& node) const {
  const auto is_whole = [this](ValueId id) {
    return TypeOf(id) == graph_.value(id).type;
  };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!HasOperand(node, i) || !is_whole(node.inputs[i])) return false;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!HasResult(node, i) || !is_whole(node.outputs[i])) return false;
  }
  return true;
}

void StepRewriter::AddCalls(NodeId id, NodeId added) {
  CopyCalls(
      graph_, id,
      {.value = [this](ValueId value) { return ValueNow(value); },
       .storage = [this](StorageId storage) { return StorageNow(storage); },
       .name = [this](const std::string& name) { return NameNow(name); }},
      added, builder_);
}

void StepRewriter::MarkEnds() {
  const auto is_here = [this](ValueId id) {
    return StorageNow(graph_.value(id).storage) != kNone;
  };
  for (const ValueId value : graph_.inputs()) {
    if (is_here(value)) builder_.MarkInput(ValueNow(value));
  }
  for (const ValueId value : graph_.outputs()) {
    if (is_here(value)) builder_.MarkOutput(ValueNow(value));
  }
}

ValueId StepRewriter::ValueNow(ValueId id) {
  ValueId& now = value_of_[IndexOf(id)];
  if (now != kNone) return now;
  const Value& value = graph_.value(id);
  now = builder_.AddSource(FreshName(value.name), TypeOf(id),
                           StorageNow(value.storage), StridesOf(id));
  return now;
}

std::string StepRewriter::FreshName(std::string name) {
  while (!names_.insert(name).second) name += ".here";
  return name;
}

StorageId StepRewriter::Allocate(std::int64_t bytes, TensorRole role,
                                 const std::string& label) {
  const StorageId storage = builder_.AddStorage(bytes, role, label);
  builder_.Allocate(storage, Current());
  return storage;
}

std::vector<ValueId> StepRewriter::Add(Added added) {
  const NodeId node =
      builder_.AddNode({.target = std::move(added.target),
                        .inputs = std::move(added.inputs),
                        .attributes = std::move(added.attributes),
                        .scope = std::move(added.scope),
                        .phase = added.phase});
  std::vector<ValueId> results;
  added.strides.resize(added.types.size());
  for (std::size_t i = 0; i < added.types.size(); ++i) {
    const std::string& label = builder_.storage(added.storages[i]).label;
    results.push_back(
        builder_.AddResult(node, FreshName(label), std::move(added.types[i]),
                           added.storages[i], std::move(added.strides[i])));
  }
  return results;
}

std::vector<ValueId> StepRewriter::AddCollective(std::string_view target,
                                                 std::int64_t bytes,
                                                 Added added) {
  added.target = target;
  const std::int64_t gpus = added.group > 0 ? added.group : spec_.gpus;
  Attributes own = {{std::string(kPlanAttribute), ToString(spec_)},
                    {std::string(kGpusAttribute), gpus},
                    {std::string(kBytesAttribute), bytes}};
  if (gpus < spec_.gpus) {
    own.emplace_back(kPlanGpusAttribute, std::int64_t{spec_.gpus});
  }
  added.attributes.insert(added.attributes.begin(), own.begin(), own.end());
  return Add(std::move(added));
}

ValueId StepRewriter::AddTensor(Added added, std::int64_t bytes,
                                TensorRole role, std::string label) {
  const StorageId storage = builder_.AddStorage(bytes, role, std::move(label));
  added.storages = {storage};
  const ValueId result = Add(std::move(added)).front();
  builder_.Allocate(storage, Current());
  return result;
}

void StepRewriter::AddUp(ValueId id) {
  const Value& value = graph_.value(id);
  const StorageId part = StorageNow(value.storage);
  const Storage storage = builder_.storage(part);
  const StorageId sum =
      Allocate(storage.bytes, storage.role, storage.label + ".sum");
  const ValueId added =
      AddCollective(kAllReduce, value.type.Bytes(),
                    {.target = {},
                     .inputs = {ValueNow(id)},
                     .types = {value.type},
                     .storages = {sum},
                     .phase = graph_.node(value.producer).phase,
                     .strides = {value.strides}})
          .front();
  Free(part);
  SetStorage(value.storage, sum);
  SetValue(id, added);
}

}  // namespace foretell::parallel
