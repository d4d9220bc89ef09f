#include "datasets/zoo/hub_values.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdint>

#include "datasets/zoo/fields.h"
#include "src/core/parse_number.h"

namespace foretell::zoo {
namespace {

std::int64_t WholeOr0(const std::string& text) {
  return ParseNumber<std::int64_t>(text).value_or(0);
}

}  // namespace

std::string HeadWidth(const std::string& text, const HubValue& other) {
  const std::int64_t heads = WholeOr0(other("num_attention_heads"));
  const std::int64_t width = WholeOr0(other("hidden_size"));
  const bool follows =
      heads > 0 && width % heads == 0 && WholeOr0(text) == width / heads;
  return follows ? "0" : text;
}

std::string Gpt2Inner(const std::string& text, const HubValue& other) {
  return WholeOr0(text) == 4 * WholeOr0(other("n_embd|hidden_size")) ? "0"
                                                                     : text;
}

std::string InnerOrFourWidths(const std::string& text, const HubValue& other) {
  if (text != "0") return text;
  const std::string width = other("hidden_size");
  const std::string named = width.empty() ? other("n_embd|hidden_size") : width;
  return fmt::format("{}", 4 * WholeOr0(named));
}

std::string SquareRoot(const std::string& text, const HubValue& /*other*/) {
  return FormatValue(std::sqrt(static_cast<double>(WholeOr0(text))));
}

std::string RotaryBase(const std::string& text, const HubValue& /*other*/) {
  constexpr double kLargest = 1'000'000;
  const auto base = ParseNumber<double>(text);
  return base && *base > kLargest ? FormatValue(kLargest) : text;
}

std::string Activation(const std::string& text, const HubValue& /*other*/) {
  return text == "gelu_pytorch_tanh" ? "gelu_tanh" : text;
}

std::string Gpt2Head(const std::string& text, const HubValue& /*other*/) {
  return text == "GPT2LMHeadModel" ? "true" : "false";
}

std::string WidthRatio(const std::string& text, const HubValue& other) {
  const std::int64_t width = WholeOr0(other("hidden_size"));
  const std::int64_t inner = WholeOr0(text);
  if (width <= 0 || inner % width != 0) {
    return fmt::format("{}/{}", text, width);
  }
  return fmt::format("{}", inner / width);
}

}  // namespace foretell::zoo
