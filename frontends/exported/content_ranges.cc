// `n.item()`, `lengths.max().item()` and `lengths[0].item()` are numbers with a
// range of their own in the file (torch._check); traced back, it is a range of
// the input's content.

#include "frontends/exported/content_ranges.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <variant>

namespace foretell::exported {
namespace {

/// Operators whose results hold elements of their first argument.
constexpr std::array<std::string_view, 30> kKeepContent = {
    "alias",
    "amax",
    "amin",
    "clone",
    "contiguous",
    "detach",
    "detach_",
    "expand",
    "flatten",
    "gather",
    "index",
    "item",
    "max",
    "min",
    "permute",
    "reshape",
    "select",
    "slice",
    "sort",
    "split",
    "squeeze",
    "to",
    "unbind",
    "unsqueeze",
    "view",
    "_to_copy",
    "chunk",
    "lift",
    "lift_fresh_copy",
    "_local_scalar_dense"};

/// "torch.ops.aten.select.int" is "select".
std::string_view NameOf(std::string_view target) {
  constexpr std::string_view kAten = "torch.ops.aten.";
  if (target == "_operator.getitem") return "select";
  if (!target.starts_with(kAten)) return {};
  target.remove_prefix(kAten.size());
  return target.substr(0, target.find('.'));
}

bool KeepsContent(const Node& node) {
  return std::ranges::find(kKeepContent, NameOf(node.target)) !=
         kKeepContent.end();
}

/// The first slot among the arguments; kUnused if there is none.
int FirstSlot(const Node& node) {
  int first = kUnused;
  if (node.inputs.empty()) return first;
  ForEachSlot(node.inputs.front(), [&](int slot) {
    if (first == kUnused) first = slot;
  });
  return first;
}

void Narrow(const SizeRange& range, SizeRange& of_content) {
  if (range.at_least) {
    of_content.at_least =
        std::max(*range.at_least, of_content.at_least.value_or(0));
  }
  if (range.at_most) {
    of_content.at_most =
        std::min(*range.at_most, of_content.at_most.value_or(*range.at_most));
  }
}

}  // namespace

void FindFills(const std::map<int, SizeRange>& numbers, Model& model) {
  std::map<int, ModelInput*> holds;  // Slots with content of an input.
  std::map<ModelInput*, SizeRange> ranges;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    if (model.inputs[i].kind != InputKind::kUser) continue;
    const auto* slot = std::get_if<Slot>(&model.graph.inputs[i].value);
    if (slot != nullptr) holds[slot->index] = &model.inputs[i];
  }
  for (const Node& node : model.graph.nodes) {
    const auto source = holds.find(FirstSlot(node));
    if (source == holds.end() || !KeepsContent(node)) continue;
    for (const Argument& output : node.outputs) {
      ForEachSlot(output, [&](int slot) {
        holds[slot] = source->second;
        const auto range = numbers.find(slot);
        if (range == numbers.end()) return;
        Narrow(range->second, ranges[source->second]);
      });
    }
  }
  for (const auto& [input, range] : ranges) {
    input->fill = std::max(input->fill, range.at_least.value_or(0));
    input->fill = std::min(input->fill, range.at_most.value_or(input->fill));
  }
}

}  // namespace foretell::exported
