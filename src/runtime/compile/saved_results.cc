#include "src/runtime/compile/saved_results.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "src/graph/copy_calls.h"
#include "src/graph/index_of.h"

namespace foretell::runtime {
namespace {

class SavedWriter {
 public:
  explicit SavedWriter(const OperatorGraph& graph)
      : graph_(graph),
        builder_(graph.info()),
        value_of_(graph.values().size(), kNone),
        saved_(graph.nodes().size()) {
    builder_.SetParameterElements(graph.ParameterElements());
  }

  OperatorGraph Write() {
    for (const Storage& storage : graph_.storages()) {
      builder_.AddStorage(storage.bytes, storage.role, storage.label);
    }
    FindSaved();
    for (ValueId id = 0; id < std::ssize(graph_.values()); ++id) {
      const Value& value = graph_.value(id);
      if (value.producer != kNone || is_saved_[IndexOf(id)]) continue;
      Now(id) = builder_.AddSource(value.name, value.type, value.storage,
                                   value.strides);
    }
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) AddNode(id);
    for (const ValueId id : graph_.inputs()) builder_.MarkInput(Now(id));
    for (const ValueId id : graph_.outputs()) builder_.MarkOutput(Now(id));
    builder_.DeriveLifetimes();
    return builder_.Build();
  }

 private:
  ValueId& Now(ValueId id) { return value_of_[IndexOf(id)]; }

  /// By node, the sources that are allocated during it.
  void FindSaved() {
    is_saved_.assign(graph_.values().size(), false);
    std::vector<ValueId> source_in(graph_.storages().size(), kNone);
    for (ValueId id = 0; id < std::ssize(graph_.values()); ++id) {
      const Value& value = graph_.value(id);
      if (value.producer == kNone) source_in[IndexOf(value.storage)] = id;
    }
    for (const MemoryEvent& event : graph_.events()) {
      const ValueId source = source_in[IndexOf(event.storage)];
      if (event.kind != MemoryEvent::Kind::kAllocate || source == kNone ||
          event.node == kNone ||
          graph_.node(event.node).phase != Phase::kForward) {
        continue;
      }
      saved_[IndexOf(event.node)].push_back(source);
      is_saved_[IndexOf(source)] = true;
    }
  }

  void AddNode(NodeId id) {
    const Node& node = graph_.node(id);
    NodeSpec spec{.target = node.target,
                  .inputs = {},
                  .attributes = node.attributes,
                  .scope = node.scope,
                  .phase = node.phase};
    for (const ValueId input : node.inputs) spec.inputs.push_back(Now(input));
    const NodeId added = builder_.AddNode(std::move(spec));
    for (const ValueId output : node.outputs) AddResult(added, output);
    for (const ValueId saved : saved_[IndexOf(id)]) AddResult(added, saved);
    CopyCalls(graph_, id,
              {.value = [this](ValueId value) { return Now(value); },
               .storage = [](StorageId storage) { return storage; },
               .name = [](const std::string& name) { return name; }},
              added, builder_);
  }

  void AddResult(NodeId added, ValueId id) {
    const Value& value = graph_.value(id);
    Now(id) = builder_.AddResult(added, value.name, value.type, value.storage,
                                 value.strides);
  }

  const OperatorGraph& graph_;
  GraphBuilder builder_;
  std::vector<ValueId> value_of_;
  std::vector<std::vector<ValueId>> saved_;  ///< By node.
  std::vector<bool> is_saved_;               ///< By value.
};

}  // namespace

OperatorGraph ExposeSaved(const OperatorGraph& graph) {
  return SavedWriter(graph).Write();
}

}  // namespace foretell::runtime
