// Text form of a graph, from sources over operators to the timeline.
//
// All sources come first and results follow in the order of their nodes, so
// that printing a parsed graph gives the same text again whatever the order in
// which the tensors were made.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "foretell/graph_io.h"
#include "src/core/text.h"
#include "src/graph/text_quote.h"

namespace foretell {
namespace {

constexpr int kEventsPerLine = 8;

bool AllOf(std::string_view text, bool (*belongs)(char)) {
  for (const char c : text) {
    if (!belongs(c)) return false;
  }
  return !text.empty();
}

std::string TargetText(const std::string& target) {
  return AllOf(target, &IsWordCharacter) ? target : Quoted(target);
}

std::string AssignmentText(const std::pair<std::string, Attribute>& attribute) {
  return TargetText(attribute.first) + "=" + AttributeText(attribute.second);
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
      Add("output {}\n", NamesOf(graph_.outputs()));
    }
    if (options.with_timeline) PrintTimeline();
    return std::move(text_);
  }

 private:
  template <typename... Parts>
  void Add(fmt::format_string<Parts...> format, Parts&&... parts) {
    fmt::format_to(std::back_inserter(text_), format,
                   std::forward<Parts>(parts)...);
  }

  std::string Alias(ValueId id) const {
    return fmt::format(" alias {}", NameOf(id));
  }

  std::string NamesOf(std::span<const ValueId> ids) const {
    return Joined(
        ids | std::views::transform([this](ValueId id) { return NameOf(id); }));
  }

  std::string NameOf(ValueId id) const {
    const std::string& name = graph_.value(id).name;
    std::string text = "%";
    text += AllOf(name, &IsNameCharacter) ? name : Quoted(name);
    return text;
  }

  void PrintHeader() {
    const GraphInfo& info = graph_.info();
    Add("graph {} mode={} precision={}", Quoted(info.name), ModeName(info.mode),
        PrecisionName(info.precision));
    if (info.autocast) Add(" autocast={}", DTypeName(*info.autocast));
    if (info.grad_mode) Add(" grad=on");
    Add(" batch={}", info.batch);
    if (!info.optimizer.empty()) Add(" optimizer={}", Quoted(info.optimizer));
    Add(" parameters={}\n", graph_.ParameterElements());
  }

  void PrintSource(ValueId id) {
    const Value& value = graph_.value(id);
    Add("{} = {} {}{}\n", NameOf(id),
        TensorRoleName(graph_.storage(value.storage).role),
        ToString(value.type), StorageText(id, {}));
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
    Add("inputs {}\n", NamesOf(graph_.inputs()));
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
      text += fmt::format(" bytes={}", storage.bytes);
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
      Add("phase {}\n", PhaseName(phase_));
    }
    if (!node.outputs.empty()) Add("{} = ", NamesOf(node.outputs));
    Add("{}({})", TargetText(node.target), NamesOf(node.inputs));
    if (!node.attributes.empty()) {
      Add(" {{{}}}",
          Joined(node.attributes | std::views::transform(&AssignmentText)));
    }
    if (!node.outputs.empty()) {
      const ValueOfStorage inputs = FirstInputs(node);
      const auto result = [&](ValueId id) { return ResultText(id, inputs); };
      Add(" : {}", Joined(node.outputs | std::views::transform(result)));
    }
    if (!node.scope.empty()) Add(" @ {}", Quoted(node.scope));
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
        if (event.node == kNone) {
          text_ += "start:";
        } else {
          Add("{}:", event.node);
        }
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
    const std::string name = fmt::format("s{}", scratch_.size());
    scratch_[id] = name;
    Add("scratch {} {} bytes={}", name, TensorRoleName(storage.role),
        storage.bytes);
    if (!storage.label.empty()) Add(" label={}", Quoted(storage.label));
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
