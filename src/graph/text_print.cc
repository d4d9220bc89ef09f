// Text form of a graph, from sources over operators to the timeline.
//
// All sources come first and results follow in the order of their nodes, so
// that printing a parsed graph gives the same text again whatever the order in
// which the tensors were made.

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "foretell/graph_io.h"
#include "src/graph/text_quote.h"

namespace foretell {
namespace {

constexpr int kEventsPerLine = 8;

template <typename Range, typename Print>
std::string Joined(const Range& range, Print print) {
  std::string text;
  for (const auto& element : range) {
    if (!text.empty()) text += ", ";
    text += print(element);
  }
  return text;
}

bool AllOf(std::string_view text, bool (*belongs)(char)) {
  for (const char c : text) {
    if (!belongs(c)) return false;
  }
  return !text.empty();
}

std::string TargetText(const std::string& target) {
  return AllOf(target, &IsWordCharacter) ? target : Quoted(target);
}

using ValueOfStorage = std::unordered_map<StorageId, ValueId>;

class Printer {
 public:
  explicit Printer(const OperatorGraph& graph)
      : graph_(graph), first_(graph.storages().size(), kNone) {}

  std::string Print(const GraphTextOptions& options) {
    PrintHeader();
    for (ValueId id = 0; id < std::ssize(graph_.values()); ++id) {
      if (graph_.value(id).producer == kNone) PrintSource(id);
    }
    PrintInputs();
    for (const Node& node : graph_.nodes()) PrintNode(node);
    if (!graph_.outputs().empty()) {
      text_ += "output " + NamesOf(graph_.outputs()) + "\n";
    }
    if (options.with_timeline) PrintTimeline();
    return std::move(text_);
  }

 private:
  std::string Alias(ValueId id) const {
    std::string text = " alias ";
    return text.append(NameOf(id));
  }

  std::string NamesOf(std::span<const ValueId> ids) const {
    return Joined(ids, [this](ValueId id) { return NameOf(id); });
  }

  std::string NameOf(ValueId id) const {
    const std::string& name = graph_.value(id).name;
    std::string text = "%";
    text += AllOf(name, &IsNameCharacter) ? name : Quoted(name);
    return text;
  }

  void PrintHeader() {
    const GraphInfo& info = graph_.info();
    text_ += "graph " + Quoted(info.name);
    text_.append(" mode=").append(ModeName(info.mode));
    text_.append(" precision=").append(PrecisionName(info.precision));
    if (info.autocast) {
      text_.append(" autocast=").append(DTypeName(*info.autocast));
    }
    text_ += " batch=" + std::to_string(info.batch);
    if (!info.optimizer.empty())
      text_ += " optimizer=" + Quoted(info.optimizer);
    text_ += " parameters=" + std::to_string(graph_.ParameterElements()) + "\n";
  }

  void PrintSource(ValueId id) {
    const Value& value = graph_.value(id);
    text_ += NameOf(id) + " = ";
    text_ += TensorRoleName(graph_.storage(value.storage).role);
    text_.append(" ").append(ToString(value.type));
    text_.append(StorageText(id, {})).append("\n");
  }

  /// The marked inputs, where they are not simply all sources of role input.
  void PrintInputs() {
    std::vector<ValueId> expected;
    for (ValueId id = 0; id < std::ssize(graph_.values()); ++id) {
      const Value& value = graph_.value(id);
      const bool is_input =
          graph_.storage(value.storage).role == TensorRole::kInput;
      if (value.producer == kNone && is_input) expected.push_back(id);
    }
    if (std::ranges::equal(expected, graph_.inputs())) return;
    text_ += "inputs " + NamesOf(graph_.inputs()) + "\n";
  }

  /// " alias %x" for a tensor in a storage that has been printed; else what
  /// the type does not say about a new storage. `inputs` are the tensors that
  /// an alias prefers to name, by storage.
  std::string StorageText(ValueId id, const ValueOfStorage& inputs) {
    const Value& value = graph_.value(id);
    const auto input = inputs.find(value.storage);
    if (input != inputs.end()) return Alias(input->second);
    ValueId& first = first_[static_cast<std::size_t>(value.storage)];
    if (first != kNone) return Alias(first);
    first = id;
    const Storage& storage = graph_.storage(value.storage);
    std::string text;
    if (storage.bytes != value.type.Bytes()) {
      text += " bytes=" + std::to_string(storage.bytes);
    }
    if (storage.label != value.name) text += " label=" + Quoted(storage.label);
    return text;
  }

  ValueOfStorage FirstInputs(const Node& node) const {
    ValueOfStorage inputs;
    for (const ValueId input : node.inputs) {
      inputs.emplace(graph_.value(input).storage, input);
    }
    return inputs;
  }

  std::string ResultText(ValueId id, const ValueOfStorage& inputs) {
    const Value& value = graph_.value(id);
    const Storage& storage = graph_.storage(value.storage);
    std::string text = ToString(value.type);
    const std::string where = StorageText(id, inputs);
    const bool aliases = where.starts_with(" alias");
    if (!aliases && storage.role != TensorRole::kActivation) {
      text.append(" ").append(TensorRoleName(storage.role));
    }
    return text + where;
  }

  void PrintNode(const Node& node) {
    if (node.phase != phase_) {
      phase_ = node.phase;
      text_.append("phase ").append(PhaseName(phase_)).append("\n");
    }
    if (!node.outputs.empty()) text_ += NamesOf(node.outputs) + " = ";
    text_ += TargetText(node.target) + "(" + NamesOf(node.inputs) + ")";
    if (!node.attributes.empty()) {
      text_ += " {" +
               Joined(node.attributes,
                      [](const auto& attribute) {
                        return TargetText(attribute.first) + "=" +
                               AttributeText(attribute.second);
                      }) +
               "}";
    }
    if (!node.outputs.empty()) {
      const ValueOfStorage inputs = FirstInputs(node);
      text_ += " : " + Joined(node.outputs, [&](ValueId id) {
                 return ResultText(id, inputs);
               });
    }
    if (!node.scope.empty()) text_ += " @ " + Quoted(node.scope);
    text_ += "\n";
  }

  void PrintTimeline() {
    text_ += "timeline\n";
    for (StorageId id = 0; id < std::ssize(graph_.storages()); ++id) {
      if (first_[static_cast<std::size_t>(id)] == kNone) PrintScratch(id);
    }
    const MemoryEvent* previous = nullptr;
    int on_line = 0;
    for (const MemoryEvent& event : graph_.events()) {
      const bool same = previous != nullptr && previous->node == event.node;
      if (!same || on_line == kEventsPerLine) {
        if (previous != nullptr) text_ += "\n";
        text_ += event.node == kNone ? "start" : std::to_string(event.node);
        text_ += ":";
        on_line = 0;
      }
      PrintEvent(event);
      ++on_line;
      previous = &event;
    }
    if (previous != nullptr) text_ += "\n";
  }

  void PrintScratch(StorageId id) {
    const Storage& storage = graph_.storage(id);
    std::string name = "s";
    name += std::to_string(scratch_.size());
    scratch_[id] = name;
    text_ += "scratch " + name;
    text_.append(" ").append(TensorRoleName(storage.role));
    text_ += " bytes=" + std::to_string(storage.bytes);
    if (!storage.label.empty()) text_ += " label=" + Quoted(storage.label);
    text_ += "\n";
  }

  void PrintEvent(const MemoryEvent& event) {
    const bool allocates = event.kind == MemoryEvent::Kind::kAllocate;
    const ValueId first = first_[static_cast<std::size_t>(event.storage)];
    text_ += allocates ? " +" : " -";
    text_ += first == kNone ? scratch_.at(event.storage) : NameOf(first);
  }

  const OperatorGraph& graph_;
  /// First printed value of every storage.
  std::vector<ValueId> first_;
  std::map<StorageId, std::string> scratch_;
  Phase phase_ = Phase::kForward;
  std::string text_;
};

}  // namespace

std::string PrintGraph(const OperatorGraph& graph,
                       const GraphTextOptions& options) {
  return Printer(graph).Print(options);
}

}  // namespace foretell
