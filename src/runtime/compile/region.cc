#include "src/runtime/compile/region.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/graph/copy_node.h"
#include "src/graph/index_of.h"

namespace foretell::runtime {
namespace {

class RegionCutter {
 public:
  RegionCutter(const OperatorGraph& step, const std::vector<int>& region_of,
               int region)
      : step_(step),
        region_of_(region_of),
        region_(region),
        builder_(step.info()),
        now_(step.values().size(), kNone),
        storage_of_(step.storages().size(), kNone),
        is_result_(step.values().size(), false) {}

  Region Run() {
    builder_.SetParameterElements(step_.ParameterElements());
    AddSources();
    for (NodeId id = 0; id < std::ssize(step_.nodes()); ++id) {
      if (IsInside(id)) Copy(id);
    }
    FindResults();
    std::vector<std::string> results;
    for (ValueId id = 0; id < std::ssize(step_.values()); ++id) {
      if (!is_result_[IndexOf(id)]) continue;
      results.push_back(step_.value(id).name);
      builder_.MarkOutput(now_[IndexOf(id)]);
    }
    builder_.DeriveLifetimes();
    return {.graph = builder_.Build(), .results = std::move(results)};
  }

 private:
  bool IsInside(NodeId id) const { return region_of_[IndexOf(id)] == region_; }
  bool IsMade(ValueId id) const {
    const NodeId producer = step_.value(id).producer;
    return producer != kNone && IsInside(producer);
  }

  void AddSources() {
    std::vector<bool> is_read(step_.values().size(), false);
    for (NodeId id = 0; id < std::ssize(step_.nodes()); ++id) {
      if (!IsInside(id)) continue;
      MarkRead(step_.node(id), is_read);
      for (const Node& call : step_.node(id).calls) MarkRead(call, is_read);
    }
    for (ValueId id = 0; id < std::ssize(step_.values()); ++id) {
      if (is_read[IndexOf(id)] && !IsMade(id)) AddSource(id);
    }
    for (const ValueId id : step_.inputs()) {
      if (now_[IndexOf(id)] != kNone) builder_.MarkInput(now_[IndexOf(id)]);
    }
  }

  static void MarkRead(const Node& node, std::vector<bool>& is_read) {
    for (const ValueId input : node.inputs) is_read[IndexOf(input)] = true;
  }

  /// Role of what another region makes, which may be a view of a parameter.
  static TensorRole RoleOutside(TensorRole role) {
    if (role == TensorRole::kSaved) return TensorRole::kActivation;
    return role == TensorRole::kGradient ? TensorRole::kBackwardTemporary
                                         : role;
  }

  void AddSource(ValueId id) {
    const Value& value = step_.value(id);
    const StorageId storage = StorageNow(value.storage);
    if (value.producer != kNone) {
      builder_.SetRole(storage, RoleOutside(step_.storage(value.storage).role));
    }
    now_[IndexOf(id)] =
        builder_.AddSource(value.name, value.type, storage, value.strides);
  }

  StorageId StorageNow(StorageId id) {
    StorageId& now = storage_of_[IndexOf(id)];
    if (now == kNone) {
      const Storage& storage = step_.storage(id);
      now = builder_.AddStorage(storage.bytes, storage.role, storage.label);
    }
    return now;
  }

  void Copy(NodeId id) {
    CopyNode(
        step_, id,
        {.parts = {
             .value = [this](ValueId value) { return now_[IndexOf(value)]; },
             .storage = [this](StorageId one) { return StorageNow(one); },
             .name = [](const std::string& name) { return name; }},
         .add = [this](ValueId value,
                       ValueId copy) { now_[IndexOf(value)] = copy; }},
        builder_);
  }

  /// The backward pass of another region reads only what its forward pass has.
  void FindResults() {
    const auto mark = [this](ValueId id) {
      if (IsMade(id)) is_result_[IndexOf(id)] = true;
    };
    for (NodeId id = 0; id < std::ssize(step_.nodes()); ++id) {
      if (IsInside(id)) continue;
      std::ranges::for_each(step_.node(id).inputs, mark);
    }
    std::ranges::for_each(step_.outputs(), mark);
  }

  const OperatorGraph& step_;
  const std::vector<int>& region_of_;
  int region_;
  GraphBuilder builder_;
  std::vector<ValueId> now_;           ///< By value of the step.
  std::vector<StorageId> storage_of_;  ///< By storage of the step.
  std::vector<bool> is_result_;        ///< By value of the step.
};

}  // namespace

Region CutRegion(const OperatorGraph& step, const std::vector<int>& region_of,
                 int region) {
  return RegionCutter(step, region_of, region).Run();
}

}  // namespace foretell::runtime
