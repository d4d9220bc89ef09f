#include "src/graph/setting.h"

#include <array>

#include "foretell/error.h"
#include "src/core/parse_json.h"

namespace foretell {
namespace {

constexpr std::array kVersionKeys = {"torch", "framework", "libtorch"};
constexpr char kAutocast[] = "autocast";
constexpr char kMemoryFormat[] = "memory_format";
constexpr char kChannelsLast[] = "channels_last";
constexpr char kGradMode[] = "grad_mode";
constexpr char kGroupNorm[] = "group_norm";
constexpr char kLayerNorm[] = "layer_norm";
constexpr char kHalf[] = "half";
constexpr char kTrue[] = "true";

/// Null where the text is no JSON: labels come from files.
nlohmann::json ParseOrNull(const std::string& text) {
  try {
    return ParseJson(text, "a setting");
  } catch (const Error&) {
    return nullptr;
  }
}

/// One version for all whose traces are the same; empty for today's. Attention
/// changed in 2.0 and 2.5, what autocast upsamples in with 2.4, Adam's step in
/// 2.1.
std::string TracedVersion(const Run& run) {
  if (run.torch.Generation() == TorchVersion{}.Generation()) return "";
  if (run.autocast && run.torch >= kFloatUpsampling) return "2.4";
  if (run.torch.Generation() == TorchGeneration::kNoFusedAttention) {
    return "1.13";
  }
  const bool steps_adam =
      run.mode == Mode::kTraining && (run.optimizer == Optimizer::kAdam ||
                                      run.optimizer == Optimizer::kAdamW ||
                                      run.optimizer == Optimizer::kAmsgrad);
  return steps_adam && run.torch >= kLeanAdam ? "2.1" : "2.0";
}

}  // namespace

Setting::Setting(const std::string& json) {
  const nlohmann::json object = ParseOrNull(json);
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.items()) {
    values_[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

Setting::Setting(const Run& run)
    : values_(
          {{kAutocast, run.autocast ? kTrue : "false"},
           {kGradMode, run.grad_mode ? kTrue : "false"},
           {kMemoryFormat, run.channels_last ? kChannelsLast : "contiguous"},
           {kVersionKeys.front(), ToString(run.torch)}}) {
  if (run.half_group_norm) values_[kGroupNorm] = kHalf;
  if (run.half_layer_norm) values_[kLayerNorm] = kHalf;
}

void Setting::Set(const std::string& key, const std::string& value) {
  values_[key] = value;
}

std::string Setting::ToJson() const { return nlohmann::json(values_).dump(); }

std::string Setting::ValueOf(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? "" : found->second;
}

Run Setting::ToRun() const {
  const std::string format = ValueOf(kMemoryFormat);
  Run run{.autocast = ValueOf(kAutocast) == kTrue,
          .channels_last = format == "nhwc" || format == kChannelsLast,
          .half_group_norm = ValueOf(kGroupNorm) == kHalf,
          .half_layer_norm = ValueOf(kLayerNorm) == kHalf,
          .grad_mode = ValueOf(kGradMode) == kTrue};
  for (const char* key : kVersionKeys) {
    if (const auto version = ParseTorchVersion(ValueOf(key))) {
      run.torch = *version;
      break;
    }
  }
  return run;
}

std::string TracedSetting(const Run& run) {
  nlohmann::json fields = nlohmann::json::object();
  if (run.autocast) fields[kAutocast] = kTrue;
  if (run.autocast && run.half_group_norm) fields[kGroupNorm] = kHalf;
  if (run.autocast && run.half_layer_norm) fields[kLayerNorm] = kHalf;
  if (run.grad_mode && run.mode == Mode::kInference) fields[kGradMode] = kTrue;
  if (run.channels_last) fields[kMemoryFormat] = kChannelsLast;
  const std::string version = TracedVersion(run);
  if (!version.empty()) fields[kVersionKeys.front()] = version;
  return fields.empty() ? "" : fields.dump();
}

}  // namespace foretell
