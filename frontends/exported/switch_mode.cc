#include "frontends/exported/switch_mode.h"

#include <algorithm>

#include "frontends/exported/call_operator.h"

namespace foretell::exported {
namespace {

bool IsNone(const Argument& input) {
  const auto* value = std::get_if<c10::IValue>(&input.value);
  return value != nullptr && value->isNone();
}

/// A batch norm without statistics of its own uses the batch's in both modes:
/// timm's NFNets normalise their weights that way.
bool TakesTheBatch(const Node& node) {
  return std::ranges::any_of(node.inputs, [](const Argument& input) {
    return IsStatistics(input.name) && IsNone(input);
  });
}

bool IsFlag(const Node& node, const Argument& input) {
  const auto* value = std::get_if<c10::IValue>(&input.value);
  return value != nullptr && value->isBool() &&
         IsModeFlag(OperatorName(node.target), input.name) &&
         !TakesTheBatch(node);
}

/// Slots of the counts of batches that batch norms keep.
std::set<int> CountsOfBatches(const Model& model) {
  std::set<int> slots;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const auto* slot = std::get_if<Slot>(&model.graph.inputs[i].value);
    if (slot != nullptr && model.inputs[i].kind == InputKind::kBuffer &&
        model.inputs[i].name.ends_with("num_batches_tracked")) {
      slots.insert(slot->index);
    }
  }
  return slots;
}

/// num_batches_tracked.add_(1), whose result no node reads.
bool CountsBatches(const Node& node, const std::set<int>& counts) {
  if (OperatorName(node.target) != "aten::add_" || node.inputs.empty()) {
    return false;
  }
  const auto* count = std::get_if<Slot>(&node.inputs.front().value);
  const auto* result = node.outputs.empty()
                           ? nullptr
                           : std::get_if<Slot>(&node.outputs.front().value);
  return count != nullptr && counts.contains(count->index) &&
         (result == nullptr || result->index == kUnused);
}

}  // namespace

ModeSwitch::ModeSwitch(const Model& model, Mode mode) {
  ModeFlags flags;
  ForEachNode(model.graph, [&](const Node& node) {
    for (const Argument& input : node.inputs) {
      if (!IsFlag(node, input)) continue;
      flags.Count(std::get<c10::IValue>(input.value).toBool());
    }
  });
  change_ = flags.For(mode);
  if (change_ != ModeChange::kToInference) return;
  const std::set<int> counts = CountsOfBatches(model);
  for (const Node& node : model.graph.nodes) {
    if (CountsBatches(node, counts)) skipped_.insert(&node);
  }
}

std::string ModeSwitch::Warning() const {
  return ModeWarning(change_, "exported", "export");
}

c10::IValue ModeSwitch::Apply(const Node& node, const Argument& input,
                              c10::IValue value) const {
  if (change_ == ModeChange::kStay) return value;
  if (change_ == ModeChange::kToInference &&
      IsModeProbability(OperatorName(node.target), input.name)) {
    return 0.0;
  }
  if (!IsFlag(node, input)) return value;
  return change_ == ModeChange::kToTraining;
}

}  // namespace foretell::exported
