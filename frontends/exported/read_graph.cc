#include "frontends/exported/read_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "frontends/exported/frame_names.h"
#include "frontends/exported/read_argument.h"

namespace foretell::exported {
namespace {

/// The part of `text` between its comma number `which` and the next.
std::string FieldOf(std::string_view text, int which) {
  for (; which > 0; --which) {
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) return {};
    text.remove_prefix(comma + 1);
  }
  return std::string(text.substr(0, text.find(',')));
}

/// Path of the innermost module; each is written "key,path,class".
std::string ScopeOf(std::string_view modules) {
  const std::size_t last = modules.rfind(';');
  if (last != std::string_view::npos) modules.remove_prefix(last + 1);
  return FieldOf(modules, 1);
}

/// transformers wraps the product of experts for types that PyTorch's own does
/// not support: the same product of the same operands.
void TakeForAten(Node& node) {
  constexpr std::string_view kWrapped =
      "torch.ops.transformers.grouped_mm_fallback.default";
  if (node.target != kWrapped) return;
  node.target = "torch.ops.aten._grouped_mm.default";
  for (Argument& input : node.inputs) {
    if (input.name == "input") input.name = "self";
    if (input.name == "weight") input.name = "mat2";
  }
}

/// The calls of modules, outermost first, without the network's own, whose path
/// is empty. The key distinguishes calls of the same module.
std::vector<std::string> CallsOf(std::string_view modules) {
  std::vector<std::string> calls;
  while (!modules.empty()) {
    const std::string_view one = modules.substr(0, modules.find(';'));
    if (!FieldOf(one, 1).empty()) calls.push_back(FieldOf(one, 0));
    modules.remove_prefix(std::min(one.size() + 1, modules.size()));
  }
  return calls;
}

class GraphReader {
 public:
  GraphReader(Document& document, std::map<std::string, int>& slots)
      : document_(document), slots_(slots) {}

  Graph Read(const Json& value) {
    Graph graph;
    for (const Json& input : document_.List(value, "inputs")) {
      graph.inputs.push_back(ReadArgument(document_, input, define_, inner_));
    }
    for (const Json& node : document_.List(value, "nodes")) {
      graph.nodes.push_back(ReadNode(node));
    }
    document_.SetPlace("outputs");
    for (const Json& output : document_.List(value, "outputs")) {
      graph.outputs.push_back(ReadArgument(document_, output, find_, inner_));
    }
    document_.SetPlace("");
    graph.num_slots = static_cast<int>(slots_.size());
    NoteLastUses(graph);
    return graph;
  }

 private:
  int Define(const std::string& name) {
    const auto [entry, is_new] =
        slots_.emplace(name, static_cast<int>(slots_.size()));
    if (!is_new) document_.Fail(fmt::format("'{}' is made twice", name));
    return entry->second;
  }

  int Find(const std::string& name) const {
    const auto found = slots_.find(name);
    if (found == slots_.end()) {
      document_.Fail(
          fmt::format("reads '{}', which no earlier node defines", name));
    }
    return found->second;
  }

  Node ReadNode(const Json& value) {
    Node node{.target = document_.Text(value, "target")};
    if (const Json* name = document_.Find(value, "name")) {
      node.name = document_.ToText(*name);
    }
    const std::string place =
        fmt::format("node '{}' ({})", node.name, node.target);
    document_.SetPlace(place);
    ReadMetadata(value, node);
    for (const Json& input : document_.List(value, "inputs")) {
      Argument argument = ReadArgument(
          document_, document_.Member(input, "arg"), find_, inner_);
      argument.name = document_.Text(input, "name");
      node.inputs.push_back(std::move(argument));
      document_.SetPlace(place);
    }
    for (const Json& output : document_.List(value, "outputs")) {
      node.outputs.push_back(ReadArgument(document_, output, define_, inner_));
    }
    TakeForAten(node);
    return node;
  }

  void ReadMetadata(const Json& value, Node& node) const {
    const Json* metadata = document_.Find(value, "metadata");
    if (metadata == nullptr) return;
    if (const Json* modules = document_.Find(*metadata, "nn_module_stack")) {
      const std::string text = document_.ToText(*modules);
      node.scope = ScopeOf(text);
      node.calls = CallsOf(text);
    }
    if (const Json* trace = document_.Find(*metadata, "stack_trace")) {
      node.stack = SourceLinesOf(document_.ToText(*trace));
    }
  }

  /// Notes for every slot after which node it dies, or before which node the
  /// last name lets go of it, and marks results and inputs that are never used.
  static void NoteLastUses(Graph& graph) {
    std::vector<std::vector<int>> forgotten(graph.nodes.size() + 1);
    const std::vector<std::size_t> ends = NamesEnd(graph);
    for (std::size_t slot = 0; slot < ends.size(); ++slot) {
      if (ends[slot] > 0) {
        forgotten[ends[slot]].push_back(static_cast<int>(slot));
      }
    }
    std::vector<bool> is_read(static_cast<std::size_t>(graph.num_slots));
    const auto read = [&](int slot) {
      is_read[static_cast<std::size_t>(slot)] = true;
    };
    for (const Argument& output : graph.outputs) ForEachSlot(output, read);
    std::ranges::for_each(forgotten.back(), read);
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
      Node& node = graph.nodes[i];
      for (Argument& output : node.outputs) ForgetUnread(output, is_read);
      for (const Argument& input : node.inputs) {
        ForEachSlot(input, [&](int slot) {
          if (is_read[static_cast<std::size_t>(slot)]) return;
          node.dies.push_back(slot);
          read(slot);
        });
      }
      for (const int slot : forgotten[i]) {
        if (is_read[static_cast<std::size_t>(slot)]) continue;
        node.forgotten.push_back(slot);
        read(slot);
      }
    }
    for (const Argument& input : graph.inputs) {
      ForEachSlot(input, [&](int slot) {
        if (!is_read[static_cast<std::size_t>(slot)]) {
          graph.unread.push_back(slot);
        }
      });
    }
  }

  static void ForgetUnread(Argument& output, const std::vector<bool>& is_read) {
    if (auto* slot = std::get_if<Slot>(&output.value)) {
      if (!is_read[static_cast<std::size_t>(slot->index)]) {
        slot->index = kUnused;
      }
    } else if (auto* list = std::get_if<std::vector<Argument>>(&output.value)) {
      for (Argument& element : *list) ForgetUnread(element, is_read);
    }
  }

  Document& document_;
  std::map<std::string, int>& slots_;
  const SlotOf define_ = [this](const std::string& name) {
    return Define(name);
  };
  const SlotOf find_ = [this](const std::string& name) { return Find(name); };
  const ReadInner inner_ = [this](const Json& value) {
    std::map<std::string, int> slots;
    return std::make_shared<const Graph>(ReadGraph(document_, value, slots));
  };
};

}  // namespace

Graph ReadGraph(Document& document, const Json& value,
                std::map<std::string, int>& slots) {
  return GraphReader(document, slots).Read(value);
}

}  // namespace foretell::exported
