// Text form of a graph, from sources over operators to the timeline.
//
// All sources come first and results follow in the order of their nodes, so
// that printing a parsed graph gives the same text again whatever the order in
// which the tensors were made.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "foretell/graph_io.h"
#include "src/graph/text_quote.h"

namespace foretell {
namespace {

constexpr int kEventsPerLine = 8;

template <bool (*kBelongs)(char)>
bool AreAll(std::string_view text) {
  for (const char c : text) {
    if (!kBelongs(c)) return false;
  }
  return !text.empty();
}

std::string TargetText(const std::string& target) {
  return AreAll<&IsWordCharacter>(target) ? target : Quoted(target);
}

class Printer {
 public:
  explicit Printer(const OperatorGraph& graph)
      : graph_(graph),
        first_(graph.storages().size(), kNone),
        preferred_(graph.storages().size(), kNone),
        inner_(graph.nodes().size()) {
    FindInner();
  }

  std::string Print(const GraphTextOptions& options) {
    PrintHeader();
    for (ValueId id = 0; id < std::ssize(graph_.values()); ++id) {
      if (graph_.value(id).producer == kNone) PrintSource(id);
    }
    PrintInputs();
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      PrintNode(graph_.node(id));
      PrintInside(id);
    }
    if (!graph_.outputs().empty()) {
      text_ += "output ";
      PrintNames(graph_.outputs());
      text_ += '\n';
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

  /// Lists the inner tensors of every node that no call makes.
  void FindInner() {
    std::vector<bool> is_made(graph_.values().size(), false);
    for (const Node& node : graph_.nodes()) {
      MarkResults(node, is_made);
      for (const Node& call : node.calls) MarkResults(call, is_made);
    }
    for (ValueId id = 0; id < std::ssize(graph_.values()); ++id) {
      const NodeId producer = graph_.value(id).producer;
      if (producer == kNone || is_made[static_cast<std::size_t>(id)]) continue;
      inner_[static_cast<std::size_t>(producer)].push_back(id);
    }
  }

  static void MarkResults(const Node& node, std::vector<bool>& is_made) {
    for (const ValueId id : node.outputs) {
      is_made[static_cast<std::size_t>(id)] = true;
    }
  }

  void PrintNames(std::span<const ValueId> ids) {
    std::string_view before;
    for (const ValueId id : ids) {
      text_ += before;
      PrintName(id);
      before = ", ";
    }
  }

  void PrintName(ValueId id) {
    const std::string& name = graph_.value(id).name;
    text_ += '%';
    text_ += AreAll<&IsNameCharacter>(name) ? name : Quoted(name);
  }

  void PrintHeader() {
    const GraphInfo& info = graph_.info();
    Add("graph {} mode={} precision={}", Quoted(info.name), ModeName(info.mode),
        PrecisionName(info.precision));
    if (info.autocast) Add(" autocast={}", DTypeName(*info.autocast));
    if (info.grad_mode) Add(" grad=on");
    if (info.channels_last) Add(" channels_last=on");
    if (info.runtime != RuntimeSpec{}) {
      Add(" runtime={}", Quoted(ToString(info.runtime)));
    }
    Add(" batch={}", info.batch);
    if (!info.optimizer.empty()) Add(" optimizer={}", Quoted(info.optimizer));
    Add(" parameters={}\n", graph_.ParameterElements());
  }

  void PrintSource(ValueId id) {
    const Value& value = graph_.value(id);
    PrintName(id);
    Add(" = {} ", TensorRoleName(graph_.storage(value.storage).role));
    PrintType(value);
    PrintStorage(id);
    text_ += '\n';
  }

  void PrintType(const Value& value) {
    text_ += ToString(value.type);
    if (value.strides.empty()) return;
    Add(" strides={}", AttributeText(value.strides));
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
    text_ += "inputs ";
    PrintNames(graph_.inputs());
    text_ += '\n';
  }

  /// The tensor in the same storage that an alias names: an input of the node
  /// rather than the first that was printed; kNone for a new storage.
  ValueId AliasOf(StorageId storage) const {
    const auto index = static_cast<std::size_t>(storage);
    return preferred_[index] != kNone ? preferred_[index] : first_[index];
  }

  /// Lets aliases name the first input in each storage, or no input any more.
  void Prefer(const Node& node, bool begins) {
    for (auto i = node.inputs.rbegin(); i != node.inputs.rend(); ++i) {
      const auto storage = static_cast<std::size_t>(graph_.value(*i).storage);
      preferred_[storage] = begins ? *i : kNone;
    }
  }

  /// " alias %x", or what the type does not show of a new storage.
  void PrintStorage(ValueId id) {
    const Value& value = graph_.value(id);
    const ValueId other = AliasOf(value.storage);
    if (other != kNone) {
      text_ += " alias ";
      PrintName(other);
      return;
    }
    first_[static_cast<std::size_t>(value.storage)] = id;
    const Storage& storage = graph_.storage(value.storage);
    if (storage.bytes != value.type.Bytes()) Add(" bytes={}", storage.bytes);
    const std::string_view expected = is_inside_ ? "" : value.name;
    if (storage.label != expected) Add(" label={}", Quoted(storage.label));
  }

  void PrintResult(ValueId id) {
    const Value& value = graph_.value(id);
    PrintType(value);
    const TensorRole role = graph_.storage(value.storage).role;
    if (role != TensorRole::kActivation && AliasOf(value.storage) == kNone) {
      Add(" {}", TensorRoleName(role));
    }
    PrintStorage(id);
  }

  void PrintAttributes(const Node& node) {
    std::string_view before = " {";
    for (const auto& [name, value] : node.attributes) {
      (text_ += before) += TargetText(name);
      (text_ += '=') += AttributeText(value);
      before = ", ";
    }
    if (!node.attributes.empty()) text_ += '}';
  }

  void PrintNode(const Node& node) {
    if (node.phase != phase_) {
      phase_ = node.phase;
      Add("phase {}\n", PhaseName(phase_));
    }
    PrintCall(node);
    PrintResults(node, node.outputs);
    if (!node.scope.empty()) (text_ += " @ ") += Quoted(node.scope);
    text_ += '\n';
  }

  /// `%a, %b = target(%x) {key=value}`
  void PrintCall(const Node& node) {
    PrintNames(node.outputs);
    if (!node.outputs.empty()) text_ += " = ";
    (text_ += TargetText(node.target)) += '(';
    PrintNames(node.inputs);
    text_ += ')';
    PrintAttributes(node);
  }

  void PrintResults(const Node& node, std::span<const ValueId> results) {
    Prefer(node, true);
    std::string_view before = " : ";
    for (const ValueId id : results) {
      text_ += before;
      PrintResult(id);
      before = ", ";
    }
    Prefer(node, false);
  }

  /// What a node's calls read or make, and its calls, a line each.
  void PrintInside(NodeId id) {
    is_inside_ = true;
    for (const ValueId inner : inner_[static_cast<std::size_t>(id)]) {
      text_ += "| ";
      PrintName(inner);
      text_ += " = inner ";
      PrintResult(inner);
      text_ += '\n';
    }
    const Node& node = graph_.node(id);
    std::unordered_set<ValueId> known(node.outputs.begin(), node.outputs.end());
    for (const Node& call : node.calls) {
      text_ += "| ";
      PrintCall(call);
      std::vector<ValueId> fresh;
      std::ranges::copy_if(
          call.outputs, std::back_inserter(fresh),
          [&](ValueId one) { return known.insert(one).second; });
      PrintResults(call, fresh);
      text_ += '\n';
    }
    is_inside_ = false;
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
        text_ += event.node == kNone ? std::string("start")
                                     : fmt::format_int(event.node).str();
        text_ += ':';
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
    if (first == kNone) {
      text_ += scratch_.at(event.storage);
    } else {
      PrintName(first);
    }
  }

  const OperatorGraph& graph_;
  /// First printed value of every storage.
  std::vector<ValueId> first_;
  /// First input of the node that is being printed, by storage.
  std::vector<ValueId> preferred_;
  /// Inner tensors that no call makes, by node.
  std::vector<std::vector<ValueId>> inner_;
  std::map<StorageId, std::string> scratch_;
  Phase phase_ = Phase::kForward;
  bool is_inside_ = false;  ///< Printing inner tensors, which label nothing.
  std::string text_;
};

}  // namespace

std::string PrintGraph(const OperatorGraph& graph,
                       const GraphTextOptions& options) {
  return Printer(graph).Print(options);
}

}  // namespace foretell
