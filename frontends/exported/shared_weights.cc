#include "frontends/exported/shared_weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
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

/// Type and shape, in which two names of one weight agree.
std::string FormOf(const ModelInput& input) {
  std::string form = fmt::format("{}", static_cast<int>(input.tensor.type));
  for (const Size& size : input.tensor.sizes) {
    form += fmt::format(",{}", size.example.value_or(-1));
  }
  return form;
}

/// Operands of an operator after its last graph; a list counts as its elements.
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
  /// Inputs that operators of each module read.
  const std::map<std::string, std::set<int>>& by_module() const {
    return by_module_;
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

/// The first weight that is read, by what it shares with its other name: so
/// that a file of many weights takes time in proportion to them.
class FirstRead {
 public:
  using Key = std::vector<std::string>;

  void Add(Key key, int input) {
    const auto [entry, is_new] = first_.emplace(std::move(key), input);
    if (!is_new) entry->second = std::min(entry->second, input);
  }
  std::optional<int> Find(const Key& key) const {
    const auto found = first_.find(key);
    return found == first_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<Key, int> first_;
};

/// The smaller of two numbers, either of which may be missing.
std::optional<int> Earlier(std::optional<int> a, std::optional<int> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

class NameFinder {
 public:
  NameFinder(Model& model, const Archive& archive)
      : model_(model), archive_(archive), readers_(model) {}

  /// Ties names with the same record; in files without records, names to what
  /// the module of the other name reads.
  void TieWhatModulesRead() {
    FirstRead of_record;
    FirstRead of_module;
    ForEachParameter(true, [&](int k, const ModelInput& input) {
      const std::string record = RecordOf(input, archive_);
      if (!record.empty()) of_record.Add({record, FormOf(input)}, k);
    });
    for (const auto& [module, read] : readers_.by_module()) {
      for (const int k : read) {
        const ModelInput& input = At(k);
        const bool counts = input.kind == InputKind::kParameter &&
                            readers_.AreRead(k) && ModuleOf(input) != module &&
                            RecordOf(input, archive_).empty();
        if (counts) of_module.Add({module, FormOf(input)}, k);
      }
    }
    Tie([&](const ModelInput& unread) {
      const std::string record = RecordOf(unread, archive_);
      return record.empty() ? of_module.Find({ModuleOf(unread), FormOf(unread)})
                            : of_record.Find({record, FormOf(unread)});
    });
  }

  /// Ties names of modules that do not run, in files without records.
  void TieWhatOthersShare() {
    std::set<int> tied;
    for (const ModelInput& input : model_.inputs) tied.insert(input.same_as);
    FirstRead shared;
    FirstRead inside;
    ForEachParameter(true, [&](int k, const ModelInput& input) {
      if (!RecordOf(input, archive_).empty()) return;
      const std::string form = FormOf(input);
      if (tied.contains(k) || readers_.IsTable(k)) shared.Add({form}, k);
      for (const std::string& module : ModulesAround(input)) {
        inside.Add({module, LastNameOf(input), form}, k);
      }
    });
    Tie([&](const ModelInput& unread) -> std::optional<int> {
      const std::string module = ModuleOf(unread);
      if (!RecordOf(unread, archive_).empty() || readers_.Runs(module)) {
        return std::nullopt;
      }
      const std::string form = FormOf(unread);
      return Earlier(shared.Find({form}),
                     inside.Find({module, LastNameOf(unread), form}));
    });
  }

 private:
  const ModelInput& At(int k) const {
    return model_.inputs[static_cast<std::size_t>(k)];
  }

  /// Modules around that of `input`: "a" and "a.b" of "a.b.c".
  static std::vector<std::string> ModulesAround(const ModelInput& input) {
    constexpr std::size_t kMostModules = 64;
    const std::string module = ModuleOf(input);
    std::vector<std::string> around;
    for (std::size_t dot = module.find('.');
         dot != std::string::npos && around.size() < kMostModules;
         dot = module.find('.', dot + 1)) {
      around.push_back(module.substr(0, dot));
    }
    return around;
  }

  template <typename Visit>
  void ForEachParameter(bool is_read, const Visit& visit) const {
    for (std::size_t i = 0; i < model_.inputs.size(); ++i) {
      const int number = static_cast<int>(i);
      if (model_.inputs[i].kind != InputKind::kParameter ||
          readers_.AreRead(number) != is_read) {
        continue;
      }
      visit(number, model_.inputs[i]);
    }
  }

  /// Ties every unread parameter that is not tied yet to what `find` gives.
  template <typename Find>
  void Tie(const Find& find) {
    ForEachParameter(false, [&](int number, const ModelInput& unread) {
      if (unread.same_as >= 0) return;
      const std::optional<int> other = find(unread);
      if (!other) return;
      model_.inputs[static_cast<std::size_t>(number)].same_as = *other;
    });
  }

  Model& model_;
  const Archive& archive_;
  Readers readers_;
};

}  // namespace

void NoteShared(Model& model, const Archive& archive) {
  NameFinder finder(model, archive);
  finder.TieWhatModulesRead();
  finder.TieWhatOthersShare();
}

}  // namespace foretell::exported
