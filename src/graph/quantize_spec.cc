#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "foretell/quantize.h"
#include "src/core/failure.h"
#include "src/core/parse_number.h"

namespace foretell {
namespace {

constexpr std::string_view kGroupKey = "group=";
constexpr std::string_view kSkipKey = "skip=";
constexpr std::string_view kFromHalf = "from=fp16";

struct QuantFormatRow {
  QuantFormat format;
  std::string_view name;
  bool has_bits;   ///< Written behind the name, as in "gptq:4".
  bool is_nested;  ///< Takes "double", "keep-input" and kFromHalf.
};

constexpr auto kQuantFormats = std::to_array<QuantFormatRow>({
    {QuantFormat::kNf4, "nf4", false, true},
    {QuantFormat::kFp4, "fp4", false, true},
    {QuantFormat::kInt8, "int8", false, false},
    {QuantFormat::kGptq, "gptq", true, false},
    {QuantFormat::kAwq, "awq", true, false},
    {QuantFormat::kFp8, "fp8", false, false},
});

const QuantFormatRow* RowNamed(std::string_view name) {
  const auto* const row =
      std::ranges::find(kQuantFormats, name, &QuantFormatRow::name);
  return row == kQuantFormats.end() ? nullptr : row;
}

bool ReadBits(std::string_view text, const QuantFormatRow& row,
              QuantizeSpec& spec) {
  const std::optional<int> bits = ParseNumber<int>(text);
  const bool knows_eight = row.format == QuantFormat::kGptq;
  if (!bits || !(*bits == 4 || (*bits == 8 && knows_eight))) return false;
  spec.bits = *bits;
  return true;
}

/// Whether `word` is an option of the format, which `spec` then has.
bool ReadWord(std::string_view word, const QuantFormatRow& row,
              QuantizeSpec& spec) {
  if (row.is_nested && word == "double") return spec.nested = true;
  if (row.is_nested && word == "keep-input") return spec.keeps_input = true;
  if (row.is_nested && word == kFromHalf) return spec.from_half = true;
  if (!row.has_bits || !word.starts_with(kGroupKey)) return false;
  const auto group = ParseNumber<int>(word.substr(kGroupKey.size()));
  if (!group || *group < 1) return false;
  spec.group = *group;
  return true;
}

std::optional<QuantizeSpec> ReadQuantize(std::string_view text) {
  std::size_t comma = std::min(text.find(','), text.size());
  const std::string_view head = text.substr(0, comma);
  const std::size_t colon = std::min(head.find(':'), head.size());
  const QuantFormatRow* const row = RowNamed(head.substr(0, colon));
  if (row == nullptr || row->has_bits == (colon == head.size())) return {};
  QuantizeSpec spec{.format = row->format};
  if (row->has_bits && !ReadBits(head.substr(colon + 1), *row, spec)) return {};
  while (comma < text.size()) {
    text.remove_prefix(comma + 1);
    if (text.starts_with(kSkipKey)) {
      spec.skip = text.substr(kSkipKey.size());
      return spec.skip.empty() ? std::nullopt : std::optional(spec);
    }
    comma = std::min(text.find(','), text.size());
    if (!ReadWord(text.substr(0, comma), *row, spec)) return {};
  }
  return spec;
}

}  // namespace

std::string ToString(const QuantizeSpec& spec) {
  const auto* const row =
      std::ranges::find(kQuantFormats, spec.format, &QuantFormatRow::format);
  if (row == kQuantFormats.end()) return "";
  std::string text(row->name);
  if (row->has_bits) text += fmt::format(":{},group={}", spec.bits, spec.group);
  if (spec.nested) text += ",double";
  if (spec.keeps_input) text += ",keep-input";
  if (spec.from_half) text += fmt::format(",{}", kFromHalf);
  if (!spec.skip.empty()) text += fmt::format(",{}{}", kSkipKey, spec.skip);
  return text;
}

QuantizeSpec ParseQuantize(std::string_view flag, std::string_view text) {
  if (const auto spec = ReadQuantize(text)) return *spec;
  throw InvalidArgument(
      "{} '{}': expected nf4, fp4, int8, gptq:4, gptq:8, awq:4 or fp8; behind "
      "nf4 and fp4 ',double', ',keep-input' or ',from=fp16', behind gptq "
      "and awq ',group=128', and last ',skip=PATTERN'",
      flag, text);
}

}  // namespace foretell
