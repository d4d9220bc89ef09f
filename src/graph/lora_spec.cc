#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "foretell/lora.h"
#include "src/core/failure.h"
#include "src/core/name_table.h"
#include "src/core/parse_number.h"
#include "src/core/text.h"

namespace foretell {
namespace {

constexpr NameTable<3> kBiasNames = {"none", "all", "lora_only"};
/// In the order of AdapterMethod.
constexpr NameTable<10> kMethodNames = {"lora",    "ia3",   "vera", "loha",
                                        "lokr",    "oft",   "boft", "prompt",
                                        "ptuning", "prefix"};

template <typename T>
bool Assign(const std::optional<T>& value, T& field) {
  if (value) field = *value;
  return value.has_value();
}

/// A whole number from 1.
template <int LoraSpec::*field>
bool ReadPositive(std::string_view value, LoraSpec& spec) {
  return Assign(ParseNumber<int>(value), spec.*field) && spec.*field >= 1;
}

bool ReadDropout(std::string_view value, LoraSpec& spec) {
  return Assign(ParseNumber<double>(value), spec.dropout) &&
         spec.dropout >= 0 && spec.dropout < 1;
}

bool ReadType(std::string_view value, LoraSpec& spec) {
  return Assign(ParseDType(value), spec.type) && IsFloatingPoint(spec.type) &&
         (ByteWidth(spec.type) == 4 || ByteWidth(spec.type) == 2);
}

template <AdapterMethod method>
bool ReadMethod(std::string_view /*value*/, LoraSpec& spec) {
  spec.method = method;
  return true;
}

struct LoraKey {
  std::string_view usage;  ///< An example; without '=' the key has no value.
  /// Reads the value; false if it is not one.
  bool (*read)(std::string_view value, LoraSpec& spec);
};

constexpr LoraKey kLoraKeys[] = {
    {"r=16", &ReadPositive<&LoraSpec::rank>},
    {"targets=q_proj|v_proj",
     [](std::string_view value, LoraSpec& spec) {
       spec.targets = value;
       return !value.empty();
     }},
    // Scales of products: they cost the same.
    {"alpha=32",
     [](std::string_view value, LoraSpec&) {
       return ParseNumber<double>(value).has_value();
     }},
    {"dropout=0.05", &ReadDropout},
    {"type=bf16", &ReadType},
    {"save=lm_head",
     [](std::string_view value, LoraSpec& spec) {
       spec.save = value;
       return !value.empty();
     }},
    {"bias=all",
     [](std::string_view value, LoraSpec& spec) {
       return Assign(FindIn<TrainedBiases>(kBiasNames, value), spec.bias);
     }},
    {"dora", [](std::string_view, LoraSpec& spec) { return spec.dora = true; }},
    {"rslora", [](std::string_view, LoraSpec&) { return true; }},
    {"kbit", [](std::string_view, LoraSpec& spec) { return spec.kbit = true; }},
    {"method=loha",
     [](std::string_view value, LoraSpec& spec) {
       return Assign(FindIn<AdapterMethod>(kMethodNames, value), spec.method);
     }},
    {"block=32", &ReadPositive<&LoraSpec::block>},
    {"factor=8", &ReadPositive<&LoraSpec::factor>},
    {"tokens=20", &ReadPositive<&LoraSpec::tokens>},
    {"hidden=1024", &ReadPositive<&LoraSpec::hidden>},
    {"both", [](std::string_view, LoraSpec& spec) { return spec.both = true; }},
    {"vera", &ReadMethod<AdapterMethod::kVera>},
    {"ia3", &ReadMethod<AdapterMethod::kIa3>},
    {"feedforward=down_proj",
     [](std::string_view value, LoraSpec& spec) {
       spec.feedforward = value;
       return !value.empty();
     }},
};

/// "targets" of "targets=q".
std::string_view KeyOf(std::string_view word) {
  return word.substr(0, word.find('='));
}

bool BeginsKey(std::string_view piece) {
  const std::string_view key = KeyOf(piece);
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !key.empty() && is_letter(key.front()) &&
         std::ranges::all_of(key, [&](char c) {
           return is_letter(c) || c == '_' || (c >= '0' && c <= '9');
         });
}

std::vector<std::string> LoraWordsOf(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    const std::string_view piece = text.substr(0, text.find(','));
    if (words.empty() || piece.empty() || BeginsKey(piece)) {
      words.emplace_back(piece);
    } else {
      words.back().append(",").append(piece);
    }
    if (piece.size() == text.size()) return words;
    text.remove_prefix(piece.size() + 1);
  }
}

bool ReadWord(std::string_view word, LoraSpec& spec) {
  const auto* const row =
      std::ranges::find(kLoraKeys, KeyOf(word),
                        [](const LoraKey& key) { return KeyOf(key.usage); });
  if (row == std::end(kLoraKeys)) return false;
  const std::string_view key = KeyOf(word);
  const bool has_value = key.size() < word.size();
  if (has_value != (key.size() < row->usage.size())) return false;
  return row->read(has_value ? word.substr(key.size() + 1) : "", spec);
}

bool Rotates(const LoraSpec& spec) {
  return spec.method == AdapterMethod::kOft ||
         spec.method == AdapterMethod::kBoft;
}

/// Why rank and block do not fit the method; empty if they do.
std::string_view RankMisfitOf(const LoraSpec& spec) {
  if (spec.method == AdapterMethod::kIa3) {
    return spec.rank > 0 ? "ia3 has no r" : "";
  }
  if (Rotates(spec)) {
    const bool has_one = (spec.rank == 0) != (spec.block == 0);
    return has_one ? ""
                   : "oft and boft have either r, blocks, or block, a size";
  }
  return spec.rank == 0 ? "r is missing" : "";
}

/// The same of virtual tokens, which have nothing of an adapter's layers.
std::string_view TokensMisfitOf(const LoraSpec& spec) {
  const LoraSpec allowed = {.type = spec.type,
                            .save = spec.save,
                            .kbit = spec.kbit,
                            .method = spec.method,
                            .tokens = spec.tokens,
                            .hidden = spec.hidden};
  if (spec.method < AdapterMethod::kPrompt) {
    return "tokens needs prompt, ptuning or prefix";
  }
  if (spec != allowed) {
    return "virtual tokens have no key except hidden, type, save and kbit";
  }
  return spec.hidden > 0 && spec.method == AdapterMethod::kPrompt
             ? "hidden needs ptuning or prefix"
             : "";
}

/// Why the keys do not fit together; empty if they do.
std::string_view MisfitOf(const LoraSpec& spec) {
  using enum AdapterMethod;
  const bool has_dropout = spec.method == kLora || spec.method == kVera;
  if (spec.tokens > 0) return TokensMisfitOf(spec);
  if (spec.method >= kPrompt) return "tokens is missing";
  if (spec.hidden > 0) return "hidden needs ptuning or prefix";
  if (spec.targets.empty()) return "targets is missing";
  const std::string_view misfit = RankMisfitOf(spec);
  if (!misfit.empty()) return misfit;
  if (!has_dropout && spec.dropout > 0)
    return "only lora and vera have dropout";
  if (!has_dropout && !Rotates(spec) && spec.bias != TrainedBiases::kNoBias) {
    return "ia3, loha and lokr have no bias";
  }
  if (spec.method != kIa3 && !spec.feedforward.empty()) {
    return "feedforward needs ia3";
  }
  if (spec.dora && spec.method != kLora) return "only lora has dora";
  if (!Rotates(spec) && spec.block > 0) return "block needs oft or boft";
  if (spec.method != kLoKr && (spec.factor > 0 || spec.both)) {
    return "factor and both need lokr";
  }
  return "";
}

[[noreturn]] void RefuseLora(std::string_view flag, std::string_view text,
                             std::string_view problem) {
  std::vector<std::string> keys;
  for (const LoraKey& key : kLoraKeys) keys.emplace_back(key.usage);
  keys.erase(keys.begin(), keys.begin() + 2);
  throw InvalidArgument(
      "{} '{}': {}; expected r=16,targets=q_proj|v_proj, a rank from 1 and a "
      "regular expression, and any of {}",
      flag, text, problem, Joined(keys));
}

}  // namespace

std::string ToString(const LoraSpec& spec) {
  std::vector<std::string> words;
  const auto add = [&words](std::string_view key, const auto& value) {
    words.push_back(fmt::format("{}={}", key, value));
  };
  const auto add_count = [&](std::string_view key, int count) {
    if (count > 0) add(key, count);
  };
  add_count("r", spec.rank);
  if (!spec.targets.empty()) add("targets", spec.targets);
  if (spec.dropout > 0) add("dropout", spec.dropout);
  if (spec.type != DType::kF32) add("type", DTypeName(spec.type));
  if (!spec.save.empty()) add("save", spec.save);
  if (spec.bias != TrainedBiases::kNoBias) {
    add("bias", NameIn(kBiasNames, spec.bias));
  }
  if (spec.dora) words.emplace_back("dora");
  if (spec.kbit) words.emplace_back("kbit");
  const std::string_view method = NameIn(kMethodNames, spec.method);
  if (method == "vera" || method == "ia3") {
    words.emplace_back(method);
  } else if (method != "lora") {
    add("method", method);
  }
  if (!spec.feedforward.empty()) add("feedforward", spec.feedforward);
  add_count("block", spec.block);
  add_count("factor", spec.factor);
  if (spec.both) words.emplace_back("both");
  add_count("tokens", spec.tokens);
  add_count("hidden", spec.hidden);
  return Joined(words, ",");
}

LoraSpec ParseLora(std::string_view flag, std::string_view text) {
  LoraSpec spec;
  for (const std::string& word : LoraWordsOf(text)) {
    if (ReadWord(word, spec)) continue;
    RefuseLora(flag, text,
               fmt::format("'{}' is none of the keys, or has no "
                           "such value",
                           word));
  }
  const std::string_view misfit = MisfitOf(spec);
  if (!misfit.empty()) RefuseLora(flag, text, misfit);
  return spec;
}

}  // namespace foretell
