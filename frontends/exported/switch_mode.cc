#include "frontends/exported/switch_mode.h"

#include <algorithm>

#include "frontends/exported/call_operator.h"

namespace foretell::exported {
namespace {

bool IsNone(const Argument& input) {
  const auto* value = std::get_if<c10::IValue>(&input.value);
  return value != nullptr && value->isNone();
}

/// A batch norm without statistics of its own takes the batch's in both modes:
/// timm's NFNets normalise their weights so.
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

}  // namespace

ModeSwitch::ModeSwitch(const Graph& graph, Mode mode) {
  ModeFlags flags;
  ForEachNode(graph, [&](const Node& node) {
    for (const Argument& input : node.inputs) {
      if (!IsFlag(node, input)) continue;
      flags.Count(std::get<c10::IValue>(input.value).toBool());
    }
  });
  change_ = flags.For(mode);
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
