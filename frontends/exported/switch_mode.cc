#include "frontends/exported/switch_mode.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace foretell::exported {
namespace {

/// Arguments that say whether a layer trains.
constexpr std::array<std::string_view, 2> kFlags = {"train", "training"};

/// Operators that have such an argument.
constexpr std::array<std::string_view, 13> kLayers = {
    "alpha_dropout", "batch_norm",        "cudnn_batch_norm",      "dropout",
    "dropout_",      "feature_dropout",   "feature_alpha_dropout", "gru",
    "lstm",          "native_batch_norm", "native_dropout",        "rnn_relu",
    "rnn_tanh"};

template <typename Names>
bool Contains(const Names& names, std::string_view name) {
  for (const std::string_view known : names) {
    if (known == name) return true;
  }
  return false;
}

/// "dropout" of "torch.ops.aten.dropout.default".
std::string_view LayerOf(std::string_view target) {
  constexpr std::string_view kAten = "torch.ops.aten.";
  if (!target.starts_with(kAten)) return {};
  target.remove_prefix(kAten.size());
  return target.substr(0, target.find('.'));
}

bool IsNone(const Argument& input) {
  const auto* value = std::get_if<c10::IValue>(&input.value);
  return value != nullptr && value->isNone();
}

/// A batch norm without statistics of its own takes the batch's in both modes:
/// timm's NFNets normalise their weights so.
bool TakesTheBatch(const Node& node) {
  return std::ranges::any_of(node.inputs, [](const Argument& input) {
    return input.name == "running_mean" && IsNone(input);
  });
}

bool IsFlag(const Node& node, const Argument& input) {
  return Contains(kFlags, input.name) && !TakesTheBatch(node) &&
         Contains(kLayers, LayerOf(node.target)) &&
         std::holds_alternative<c10::IValue>(input.value) &&
         std::get<c10::IValue>(input.value).isBool();
}

}  // namespace

ModeSwitch::ModeSwitch(const Graph& graph, Mode mode) {
  bool some_train = false;
  bool some_do_not = false;
  ForEachNode(graph, [&](const Node& node) {
    for (const Argument& input : node.inputs) {
      if (!IsFlag(node, input)) continue;
      const bool trains = std::get<c10::IValue>(input.value).toBool();
      (trains ? some_train : some_do_not) = true;
    }
  });
  if (mode == Mode::kTraining && some_do_not && !some_train) {
    change_ = Change::kToTraining;
  } else if (mode == Mode::kInference && some_train) {
    change_ = Change::kToInference;
  }
}

std::string ModeSwitch::Warning() const {
  switch (change_) {
    case Change::kNone:
      return "";
    case Change::kToTraining:
      return "was exported in eval(): batch norm and dropout are made to "
             "train; "
             "what eval() leaves out of a graph (stochastic depth, attention's "
             "dropout) is missing: export it after model.train()";
    case Change::kToInference:
      return "was exported in train(): batch norm and dropout are made not to "
             "train; export it after model.eval()";
  }
  return "";
}

c10::IValue ModeSwitch::Apply(const Node& node, const Argument& input,
                              c10::IValue value) const {
  if (change_ == Change::kNone) return value;
  if (change_ == Change::kToInference && input.name == "dropout_p") return 0.0;
  if (!IsFlag(node, input)) return value;
  return change_ == Change::kToTraining;
}

}  // namespace foretell::exported
