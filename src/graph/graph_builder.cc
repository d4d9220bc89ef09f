#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "foretell/error.h"
#include "foretell/graph.h"
#include "src/core/checked.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/graph/attribute_rules.h"
#include "src/graph/limits.h"
#include "src/graph/strides.h"
#include "src/graph/validate.h"

namespace foretell {
namespace {

/// `user` names what uses the id, and is called only if the id does not exist.
template <typename User>
void CheckId(std::int32_t id, std::size_t count, std::string_view what,
             const User& user) {
  if (id >= 0 && static_cast<std::size_t>(id) < count) return;
  throw InvalidArgument("{}: {} {} does not exist, the graph has {}", user(),
                        what, id, count);
}

void CheckStorageBytes(StorageId id, const std::string& label,
                       std::int64_t bytes) {
  if (bytes >= 0 && bytes <= kMaxTotalBytes) return;
  throw InvalidArgument("storage {} ('{}') has {}, expected 0 to 2^60", id,
                        label, Counted(bytes, "byte"));
}

/// `target` without "aten::" and overload.
std::string ShortTarget(std::string target) {
  if (target.starts_with("aten::")) target.erase(0, 6);
  target.resize(std::min(target.find('.'), target.size()));
  return target;
}

std::string Describe(const Node& node, std::int64_t id) {
  return fmt::format("node {}{}{}", id,
                     node.target.empty() ? "" : " (" + node.target + ")",
                     node.scope.empty() ? "" : " in '" + node.scope + "'");
}

std::string DescribeCall(const Node& caller, NodeId id, std::size_t place,
                         const Node& call) {
  return fmt::format("{}: call {}{}", Describe(caller, id), place,
                     call.target.empty() ? "" : " (" + call.target + ")");
}

/// First and last use of a storage's values.
struct Life {
  NodeId birth = kNone;
  NodeId death = kNone;
  bool forever = true;
};

std::vector<Life> LivesOf(const OperatorGraph& graph) {
  std::vector<Life> lives(graph.storages().size());
  const auto life_of = [&](ValueId value) -> Life& {
    return lives[static_cast<std::size_t>(graph.value(value).storage)];
  };
  std::vector<bool> seen(lives.size(), false);
  for (const Value& value : graph.values()) {
    const std::size_t storage = static_cast<std::size_t>(value.storage);
    Life& life = lives[storage];
    const NodeId birth = value.producer;
    life.birth = seen[storage] ? std::min(life.birth, birth) : birth;
    life.death = std::max(life.death, birth);
    life.forever = life.birth == kNone;
    seen[storage] = true;
  }
  const auto read = [&life_of](const Node& node, NodeId id) {
    for (const ValueId input : node.inputs) {
      life_of(input).death = std::max(life_of(input).death, id);
    }
  };
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    read(graph.node(id), id);
    for (const Node& call : graph.node(id).calls) read(call, id);
  }
  for (const ValueId output : graph.outputs()) life_of(output).forever = true;
  return lives;
}

/// The elements of every parameter storage, by the first tensor in it.
std::int64_t CountParameterElements(const OperatorGraph& graph) {
  std::vector<bool> counted(graph.storages().size(), false);
  std::int64_t total = 0;
  for (const Value& value : graph.values()) {
    const std::size_t storage = static_cast<std::size_t>(value.storage);
    if (value.producer != kNone || counted[storage]) continue;
    counted[storage] = true;
    if (graph.storage(value.storage).role != TensorRole::kParameter) continue;
    total += value.type.NumElements();
    if (total > kMaxTotalBytes) {
      throw InvalidArgument(
          "all parameters have more than 2^60 elements together");
    }
  }
  return total;
}

/// Checks a node or call whose results are known, and counts its products;
/// `describe` names it in errors.
template <typename Describe>
void Complete(const OperatorGraph& graph, Node& node,
              const Describe& describe) {
  try {
    CheckAttributes(graph, node);
    CheckTraffic(graph, node);
    node.macs = CountMacs(graph, node);
  } catch (const Error& error) {
    throw WithContext(describe(), error);
  }
}

}  // namespace

GraphBuilder::GraphBuilder(GraphInfo info) {
  if (info.batch < 0 || info.batch > kMaxElements) {
    throw InvalidArgument("graph '{}': the batch is {}, expected 0 to 2^56",
                          info.name, info.batch);
  }
  const DType autocast = info.autocast.value_or(DType::kF16);
  if (!IsHalf(autocast)) {
    throw InvalidArgument("graph '{}': autocast is to {}, expected f16 or bf16",
                          info.name, DTypeName(autocast));
  }
  if (info.grad_mode && info.mode == Mode::kTraining) {
    throw InvalidArgument(
        "graph '{}': grad mode applies to inference; training always records",
        info.name);
  }
  graph_.info_ = std::move(info);
}

StorageId GraphBuilder::AddStorage(std::int64_t bytes, TensorRole role,
                                   std::string label) {
  const StorageId id = static_cast<StorageId>(graph_.storages_.size());
  CheckStorageBytes(id, label, bytes);
  graph_.storages_.push_back({bytes, role, std::move(label)});
  return id;
}

void GraphBuilder::Grow(StorageId storage, std::int64_t bytes) {
  CheckId(storage, graph_.storages_.size(), "storage", [] { return "Grow"; });
  Storage& grown = graph_.storages_[static_cast<std::size_t>(storage)];
  CheckStorageBytes(storage, grown.label, bytes);
  grown.bytes = std::max(grown.bytes, bytes);
}

void GraphBuilder::SetRole(StorageId storage, TensorRole role) {
  CheckId(storage, graph_.storages_.size(), "storage",
          [] { return "SetRole"; });
  graph_.storages_[static_cast<std::size_t>(storage)].role = role;
}

ValueId GraphBuilder::AddValue(Value value) {
  std::string& name = value.name;
  if (name.empty()) name = FreshName();
  CheckType(value.type, "tensor", name);
  CheckStrides(value);
  CheckId(value.storage, graph_.storages_.size(), "storage",
          [&name] { return "tensor '" + name + "'"; });
  if (!names_.insert(name).second) {
    throw InvalidArgument("two tensors are called '{}'", name);
  }
  std::string& label =
      graph_.storages_[static_cast<std::size_t>(value.storage)].label;
  if (label.empty()) label = name;
  value.strides = RecordedStrides(value.type.shape, std::move(value.strides));
  graph_.values_.push_back(std::move(value));
  return static_cast<ValueId>(graph_.values_.size() - 1);
}

std::string GraphBuilder::FreshName() {
  std::string name;
  do {
    name = fmt::format("{}", next_name_++);
  } while (names_.contains(name));
  return name;
}

ValueId GraphBuilder::AddSource(std::string name, TensorType type,
                                StorageId storage, Strides strides) {
  return AddValue(
      {std::move(name), std::move(type), storage, kNone, std::move(strides)});
}

template <typename Describe>
Node GraphBuilder::MakeNode(NodeSpec spec, const Describe& describe) const {
  Node node{.target = ShortTarget(std::move(spec.target)),
            .kind = OpKind::kOther,
            .scope = std::move(spec.scope),
            .phase = spec.phase,
            .inputs = std::move(spec.inputs),
            .outputs = {},
            .attributes = std::move(spec.attributes)};
  if (node.target.empty()) {
    throw InvalidArgument("{} has no operator name", describe(node));
  }
  for (const ValueId input : node.inputs) {
    CheckId(input, graph_.values_.size(), "input value",
            [&] { return describe(node); });
  }
  node.kind = OpKindOf(node.target);
  if (node.kind == OpKind::kConvolution && node.Int("transposed", 0) != 0) {
    node.kind = OpKind::kTransposedConvolution;
  }
  return node;
}

NodeId GraphBuilder::AddNode(NodeSpec spec) {
  const NodeId id = num_nodes();
  graph_.nodes_.push_back(MakeNode(
      std::move(spec), [id](const Node& node) { return Describe(node, id); }));
  return id;
}

ValueId GraphBuilder::AddInner(NodeId node, std::string name, TensorType type,
                               StorageId storage, Strides strides) {
  CheckId(node, graph_.nodes_.size(), "node",
          [&name] { return "inner tensor '" + name + "'"; });
  CheckId(storage, graph_.storages_.size(), "storage",
          [&name] { return "inner tensor '" + name + "'"; });
  Storage& own = graph_.storages_[static_cast<std::size_t>(storage)];
  std::string label = std::move(own.label);
  const ValueId value = AddValue(
      {std::move(name), std::move(type), storage, node, std::move(strides)});
  own.label = std::move(label);
  return value;
}

void GraphBuilder::AddCall(NodeId node, NodeSpec spec,
                           std::vector<ValueId> results) {
  CheckId(node, graph_.nodes_.size(), "node",
          [&spec] { return "call '" + spec.target + "'"; });
  Node& caller = graph_.nodes_[static_cast<std::size_t>(node)];
  const auto describe = [&](const Node& call) {
    return DescribeCall(caller, node, caller.calls.size(), call);
  };
  spec.scope.clear();
  spec.phase = caller.phase;
  Node call = MakeNode(std::move(spec), describe);
  for (const ValueId result : results) {
    CheckId(result, graph_.values_.size(), "result",
            [&] { return describe(call); });
    if (graph_.value(result).producer == node) continue;
    throw InvalidArgument("{}: '{}' is not a tensor of that node",
                          describe(call), graph_.value(result).name);
  }
  call.outputs = std::move(results);
  caller.calls.push_back(std::move(call));
}

ValueId GraphBuilder::AddResult(NodeId node, std::string name, TensorType type,
                                StorageId storage, Strides strides) {
  CheckId(node, graph_.nodes_.size(), "node",
          [&name] { return "result '" + name + "'"; });
  const ValueId value = AddValue(
      {std::move(name), std::move(type), storage, node, std::move(strides)});
  graph_.nodes_[static_cast<std::size_t>(node)].outputs.push_back(value);
  return value;
}

void GraphBuilder::SetScope(NodeId node, std::string scope) {
  CheckId(node, graph_.nodes_.size(), "node", [] { return "SetScope"; });
  graph_.nodes_[static_cast<std::size_t>(node)].scope = std::move(scope);
}

void GraphBuilder::Allocate(StorageId storage, NodeId node) {
  graph_.events_.push_back({MemoryEvent::Kind::kAllocate, storage, node});
}

void GraphBuilder::Free(StorageId storage, NodeId node) {
  graph_.events_.push_back({MemoryEvent::Kind::kFree, storage, node});
}

void GraphBuilder::MarkInput(ValueId value) {
  CheckId(value, graph_.values_.size(), "value", [] { return "MarkInput"; });
  const Value& marked = graph_.value(value);
  if (marked.producer != kNone) {
    throw InvalidArgument(
        "input '{}' is the result of {}", marked.name,
        Describe(graph_.node(marked.producer), marked.producer));
  }
  graph_.inputs_.push_back(value);
}

void GraphBuilder::MarkOutput(ValueId value) {
  CheckId(value, graph_.values_.size(), "value", [] { return "MarkOutput"; });
  graph_.outputs_.push_back(value);
}

void GraphBuilder::SetParameterElements(std::int64_t elements) {
  if (elements < 0 || elements > kMaxTotalBytes) {
    throw InvalidArgument(
        "the number of parameter elements is {}, expected 0 to 2^60", elements);
  }
  parameter_elements_ = elements;
}

void GraphBuilder::DeriveLifetimes() {
  if (!graph_.events_.empty()) {
    throw InvalidArgument("DeriveLifetimes: the graph already has {} events",
                          graph_.events_.size());
  }
  const std::vector<Life> lives = LivesOf(graph_);
  const std::size_t nodes = graph_.nodes_.size();
  std::vector<std::vector<StorageId>> born(nodes + 1);  // [0]: before node 0
  std::vector<std::vector<StorageId>> dying(nodes + 1);
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const StorageId storage = static_cast<StorageId>(i);
    born[static_cast<std::size_t>(lives[i].birth + 1)].push_back(storage);
    if (lives[i].forever) continue;
    dying[static_cast<std::size_t>(lives[i].death + 1)].push_back(storage);
  }
  for (std::size_t i = 0; i <= nodes; ++i) {
    const NodeId node = static_cast<NodeId>(i) - 1;
    for (const StorageId storage : born[i]) Allocate(storage, node);
    for (const StorageId storage : dying[i]) Free(storage, node);
  }
}

const Value& GraphBuilder::value(ValueId id) const {
  CheckId(id, graph_.values_.size(), "value", [] { return "GraphBuilder"; });
  return graph_.value(id);
}

const Storage& GraphBuilder::storage(StorageId id) const {
  CheckId(id, graph_.storages_.size(), "storage",
          [] { return "GraphBuilder"; });
  return graph_.storage(id);
}

std::int32_t GraphBuilder::num_nodes() const {
  return static_cast<std::int32_t>(graph_.nodes_.size());
}

OperatorGraph GraphBuilder::Build() {
  CheckInputs(graph_);
  CheckEvents(graph_);
  CheckBytes(graph_);
  for (std::size_t i = 0; i < graph_.nodes_.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    Node& node = graph_.nodes_[i];
    Complete(graph_, node, [&] { return Describe(node, id); });
    for (std::size_t place = 0; place < node.calls.size(); ++place) {
      Node& call = node.calls[place];
      Complete(graph_, call,
               [&] { return DescribeCall(node, id, place, call); });
    }
  }
  CheckTotalMacs(graph_);
  const std::int64_t counted = CountParameterElements(graph_);
  graph_.parameter_elements_ = parameter_elements_.value_or(counted);
  OperatorGraph built = std::move(graph_);
  *this = GraphBuilder(GraphInfo{});
  return built;
}

}  // namespace foretell
