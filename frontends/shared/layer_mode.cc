#include "frontends/shared/layer_mode.h"

#include <fmt/core.h>

#include <algorithm>

namespace foretell {
namespace {

struct ModeRow {
  std::string_view name;  ///< In aten, without the underscore of in-place ones.
  std::string_view argument;
};

/// From ATen's schemas (native_functions.yaml, 2.13).
constexpr ModeRow kFlags[] = {
    {"_batch_norm_impl_index", "training"},
    {"_native_batch_norm_legit", "training"},
    {"_native_batch_norm_legit_functional", "training"},
    {"alpha_dropout", "train"},
    {"batch_norm", "training"},
    {"cudnn_batch_norm", "training"},
    {"dropout", "train"},
    {"feature_alpha_dropout", "train"},
    {"feature_dropout", "train"},
    {"gru", "train"},
    {"instance_norm", "use_input_stats"},
    {"lstm", "train"},
    {"miopen_batch_norm", "training"},
    {"native_batch_norm", "training"},
    {"native_dropout", "train"},
    {"rnn_relu", "train"},
    {"rnn_tanh", "train"},
    {"rrelu", "training"},
    {"rrelu_with_noise", "training"},
};

/// "dropout" of "aten::dropout_"; empty outside of ATen.
std::string_view PlainName(std::string_view name) {
  constexpr std::string_view kAten = "aten::";
  if (!name.starts_with(kAten)) return "";
  name.remove_prefix(kAten.size());
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

}  // namespace

bool IsModeFlag(std::string_view name, std::string_view argument) {
  const std::string_view plain = PlainName(name);
  return std::ranges::any_of(kFlags, [&](const ModeRow& row) {
    return row.name == plain && row.argument == argument;
  });
}

bool IsStatistics(std::string_view argument) {
  return argument == "running_mean" || argument == "running_var";
}

bool IsModeProbability(std::string_view name, std::string_view argument) {
  return argument == "dropout_p" && name.starts_with("aten::");
}

ModeChange ModeFlags::For(Mode mode) const {
  if (mode == Mode::kInference) {
    return some_train ? ModeChange::kToInference : ModeChange::kStay;
  }
  return some_do_not && !some_train ? ModeChange::kToTraining
                                    : ModeChange::kStay;
}

std::string ModeWarning(ModeChange change, std::string_view made,
                        std::string_view make) {
  switch (change) {
    case ModeChange::kStay:
      return "";
    case ModeChange::kToTraining:
      return fmt::format(
          "was {} in eval(): batch norm and dropout are switched to training; "
          "operators that eval() omits (stochastic depth, attention's dropout) "
          "are missing: {} it after model.train()",
          made, make);
    case ModeChange::kToInference:
      return fmt::format(
          "was {} in train(): batch norm and dropout are switched to "
          "inference; {} it after model.eval()",
          made, make);
  }
  return "";
}

}  // namespace foretell
