#include "training/execution_mode.h"

#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>

#include "src/model/input_columns.h"

namespace foretell::training {
namespace {

using cost::TorchGeneration;

constexpr std::array kVersionKeys = {"torch", "framework", "libtorch"};

TorchGeneration GenerationOf(const TorchVersion& version) {
  if (version.major < 2) return TorchGeneration::kNoFusedAttention;
  const bool newest = version.major > 2 || version.minor >= 5;
  return newest ? TorchGeneration::kFloatAttentionFallback
                : TorchGeneration::kFusedAttention;
}

}  // namespace

std::optional<TorchVersion> ParseVersion(std::string_view text) {
  while (!text.empty() &&
         std::isdigit(static_cast<unsigned char>(text.front())) == 0) {
    text.remove_prefix(1);
  }
  TorchVersion version;
  const char* end = text.data() + text.size();
  const auto [dot, major_error] =
      std::from_chars(text.data(), end, version.major);
  if (major_error != std::errc() || dot == end || *dot != '.') {
    return std::nullopt;
  }
  const auto [rest, minor_error] = std::from_chars(dot + 1, end, version.minor);
  if (minor_error != std::errc()) return std::nullopt;
  return version;
}

cost::ExecutionMode ExecutionModeOf(const std::string& environment) {
  const auto value = [&environment](const char* key) {
    return model::EnvironmentValue(environment, key);
  };
  cost::ExecutionMode mode{.restore_folded_norms = true};
  mode.autocast = value("autocast") == "true";
  const std::string format = value("memory_format");
  mode.channels_last = format == "nhwc" || format == "channels_last";
  for (const char* key : kVersionKeys) {
    const std::optional<TorchVersion> version = ParseVersion(value(key));
    if (!version) continue;
    mode.torch = GenerationOf(*version);
    break;
  }
  return mode;
}

}  // namespace foretell::training
