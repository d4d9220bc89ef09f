#include "frontends/exported/shared_weights.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretell::exported {
namespace {

constexpr std::string_view kEmbedding = "torch.ops.aten.embedding.";

/// Path of the module that a parameter belongs to, empty for the network.
std::string ModuleOf(const ModelInput& input) {
  const std::size_t dot = input.name.rfind('.');
  return dot == std::string::npos ? "" : input.name.substr(0, dot);
}

std::string LastNameOf(const ModelInput& input) {
  return input.name.substr(input.name.rfind('.') + 1);
}

std::string RecordOf(const ModelInput& input, const Archive& archive) {
  const auto found = archive.records.find(input.name);
  return found == archive.records.end() ? "" : found->second;
}

bool IsAlike(const ModelInput& a, const ModelInput& b) {
  const auto same = [](const Size& x, const Size& y) {
    return x.symbol == y.symbol && x.offset == y.offset;
  };
  return a.tensor.type == b.tensor.type &&
         std::ranges::equal(a.tensor.sizes, b.tensor.sizes, same);
}

/// What operators are handed after a graph; a list counts as its elements.
std::vector<const Argument*> OperandsOf(const Node& node) {
  std::vector<const Argument*> operands;
  for (const Argument& input : node.inputs) {
    const auto* list = std::get_if<std::vector<Argument>>(&input.value);
    if (std::holds_alternative<std::shared_ptr<const Graph>>(input.value)) {
      operands.clear();
    } else if (list == nullptr) {
      operands.push_back(&input);
    } else {
      for (const Argument& element : *list) operands.push_back(&element);
    }
  }
  return operands;
}

/// Which inputs of a model are read, and by which modules.
class Readers {
 public:
  explicit Readers(const Model& model) {
    std::map<int, int> inputs;
    for (std::size_t i = 0; i < model.graph.inputs.size(); ++i) {
      const auto* slot = std::get_if<Slot>(&model.graph.inputs[i].value);
      if (slot != nullptr) inputs[slot->index] = static_cast<int>(i);
    }
    Visit(model.graph, inputs);
    const std::set<int> unread(model.graph.unread.begin(),
                               model.graph.unread.end());
    for (const auto& [slot, input] : inputs) {
      if (!unread.contains(slot)) read_.insert(input);
    }
  }

  bool AreRead(int input) const { return read_.contains(input); }
  bool IsTable(int input) const { return tables_.contains(input); }
  bool Runs(const std::string& module) const {
    return by_module_.contains(module);
  }
  bool Reads(const std::string& module, int input) const {
    const auto found = by_module_.find(module);
    return found != by_module_.end() && found->second.contains(input);
  }

 private:
  /// `inputs`: those of the model by their slots in `graph`.
  void Visit(const Graph& graph, const std::map<int, int>& inputs) {
    for (const Node& node : graph.nodes) {
      std::set<int>& read = by_module_[node.scope];
      for (const Argument& argument : node.inputs) {
        ForEachSlot(argument, [&](int slot) {
          const auto found = inputs.find(slot);
          if (found == inputs.end()) return;
          read.insert(found->second);
          if (node.target.starts_with(kEmbedding))
            tables_.insert(found->second);
        });
      }
      for (const Argument& argument : node.inputs) {
        const auto* inner =
            std::get_if<std::shared_ptr<const Graph>>(&argument.value);
        if (inner != nullptr) Visit(**inner, Handed(node, **inner, inputs));
      }
    }
  }

  /// Those of `inputs` that `node` hands to `inner`, by their slots there.
  static std::map<int, int> Handed(const Node& node, const Graph& inner,
                                   const std::map<int, int>& inputs) {
    std::map<int, int> handed;
    const std::vector<const Argument*> operands = OperandsOf(node);
    if (operands.size() != inner.inputs.size()) return handed;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto* outside = std::get_if<Slot>(&operands[i]->value);
      const auto* inside = std::get_if<Slot>(&inner.inputs[i].value);
      if (outside == nullptr || inside == nullptr) continue;
      const auto found = inputs.find(outside->index);
      if (found != inputs.end()) handed[inside->index] = found->second;
    }
    return handed;
  }

  std::set<int> read_;
  std::set<int> tables_;
  std::map<std::string, std::set<int>> by_module_;
};

/// Whether `unread` is another name of input `k`, which is like it.
using Rule = std::function<bool(const ModelInput& unread, int k)>;

/// Looks for every unread parameter that is not tied yet.
void Tie(Model& model, const Readers& readers, const Rule& is_other_name) {
  std::vector<int> read;
  std::vector<int> unread;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    if (model.inputs[i].kind != InputKind::kParameter) continue;
    const int number = static_cast<int>(i);
    (readers.AreRead(number) ? read : unread).push_back(number);
  }
  for (const int i : unread) {
    ModelInput& input = model.inputs[static_cast<std::size_t>(i)];
    if (input.same_as >= 0) continue;
    const auto other = std::ranges::find_if(read, [&](int k) {
      return IsAlike(input, model.inputs[static_cast<std::size_t>(k)]) &&
             is_other_name(input, k);
    });
    if (other != read.end()) input.same_as = *other;
  }
}

}  // namespace

void NoteShared(Model& model, const Archive& archive) {
  const Readers readers(model);
  const auto at = [&](int k) -> const ModelInput& {
    return model.inputs[static_cast<std::size_t>(k)];
  };
  Tie(model, readers, [&](const ModelInput& unread, int k) {
    const std::string record = RecordOf(unread, archive);
    if (!record.empty()) return record == RecordOf(at(k), archive);
    const std::string module = ModuleOf(unread);
    return RecordOf(at(k), archive).empty() && module != ModuleOf(at(k)) &&
           readers.Reads(module, k);
  });
  std::set<int> tied;
  for (const ModelInput& input : model.inputs) tied.insert(input.same_as);
  Tie(model, readers, [&](const ModelInput& unread, int k) {
    const std::string module = ModuleOf(unread);
    if (!RecordOf(unread, archive).empty() ||
        !RecordOf(at(k), archive).empty() || readers.Runs(module)) {
      return false;
    }
    return tied.contains(k) || readers.IsTable(k) ||
           (ModuleOf(at(k)).starts_with(module + ".") &&
            LastNameOf(at(k)) == LastNameOf(unread));
  });
}

}  // namespace foretell::exported
