#include "datasets/zoo/hub_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ranges>
#include <vector>

#include "datasets/zoo/fields.h"
#include "src/core/parse_number.h"

namespace foretell::zoo {
namespace {

std::int64_t WholeOr0(const std::string& text) {
  return ParseNumber<std::int64_t>(text).value_or(0);
}

/// n if exactly every n-th of `words`, joined by '|', is `last`; 0 if none is;
/// `words` itself if it is one number or in another order.
std::string Period(const std::string& words, std::string_view last) {
  if (words.find('|') == std::string::npos) return words;
  std::vector<std::string_view> all;
  for (const auto& word : std::views::split(words, '|')) {
    all.emplace_back(word.begin(), word.end());
  }
  const auto first = std::ranges::find(all, last);
  if (first == all.end()) return "0";
  const std::int64_t period = first - all.begin() + 1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_due = (static_cast<std::int64_t>(i) + 1) % period == 0;
    if ((all[i] == last) != is_due) return words;
  }
  return fmt::format("{}", period);
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

std::string Reciprocal(const std::string& text, const HubValue& /*other*/) {
  const auto value = ParseNumber<double>(text);
  return value && *value != 0 ? FormatValue(1 / *value) : text;
}

std::string SharedInner(const std::string& text, const HubValue& other) {
  return fmt::format("{}",
                     WholeOr0(text) * WholeOr0(other("moe_intermediate_size")));
}

std::string WindowPattern(const std::string& text, const HubValue& /*other*/) {
  return Period(text, "full_attention");
}

std::string PatternIfWindow(const std::string& text, const HubValue& other) {
  return other("sliding_window") == "0" ? "0" : WindowPattern(text, other);
}

std::string PositionPattern(const std::string& text,
                            const HubValue& /*other*/) {
  return Period(text, "0");
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
