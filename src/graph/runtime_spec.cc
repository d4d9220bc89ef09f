#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "foretell/error.h"
#include "foretell/runtime.h"
#include "src/core/name_table.h"
#include "src/core/parse_number.h"

namespace foretell {
namespace {

constexpr NameTable<4> kRuntimeNames = {"eager", "compile", "onnxruntime",
                                        "tensorrt"};
constexpr NameTable<5> kLevelNames = {"disabled", "basic", "extended", "all",
                                      "transformers"};
constexpr NameTable<3> kFreezingNames = {"", "freezing", "freezing=discard"};
constexpr NameTable<3> kSearchNames = {"exhaustive", "heuristic", "default"};

constexpr std::string_view kBudgetKey = "budget=";
constexpr std::string_view kBreaksKey = "breaks=";
constexpr std::string_view kOnlyKey = "only=";
constexpr char kModuleSeparator = '|';
constexpr std::string_view kLevelKey = "level=";
constexpr std::string_view kSearchKey = "search=";

/// Paths of modules; false, and nothing read, if one is empty.
bool ReadModules(std::string_view text, std::vector<std::string>& modules) {
  std::vector<std::string> read;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end =
        std::min(text.find(kModuleSeparator, start), text.size());
    if (end == start) return false;
    read.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  modules = std::move(read);
  return true;
}

/// What ReadModules reads, with its key; empty without modules.
std::string ModulesText(std::string_view key,
                        const std::vector<std::string>& modules) {
  if (modules.empty()) return "";
  return fmt::format(",{}{}", key,
                     fmt::join(modules, std::string(1, kModuleSeparator)));
}

/// Whether `word` is an option of torch.compile, which `spec` then has.
bool ReadCompileWord(std::string_view word, RuntimeSpec& spec) {
  if (word == "reduce-overhead") return spec.cuda_graphs = true;
  if (word.starts_with("max-autotune")) {
    spec.max_autotune = true;
    spec.cuda_graphs = word == "max-autotune";
    return spec.cuda_graphs || word == "max-autotune-no-cudagraphs";
  }
  if (word.starts_with(kBreaksKey)) {
    return ReadModules(word.substr(kBreaksKey.size()), spec.breaks);
  }
  if (word.starts_with(kOnlyKey)) {
    return ReadModules(word.substr(kOnlyKey.size()), spec.only);
  }
  if (word.starts_with("freezing")) {
    const auto freezing = FindIn<Freezing>(kFreezingNames, word);
    spec.freezing = freezing.value_or(spec.freezing);
    return freezing.has_value();
  }
  if (!word.starts_with(kBudgetKey)) return false;
  const auto budget = ParseNumber<double>(word.substr(kBudgetKey.size()));
  if (!budget || !(*budget >= 0 && *budget <= 1)) return false;
  spec.memory_budget = *budget;
  return true;
}

bool ReadOrtWord(std::string_view word, RuntimeSpec& spec) {
  if (word == "arena=exact") return spec.exact_arena = true;
  if (word == "nhwc") return spec.nhwc = true;
  if (word == "overrides") return spec.overrides = true;
  if (word.starts_with(kLevelKey)) {
    const auto level =
        FindIn<OrtLevel>(kLevelNames, word.substr(kLevelKey.size()));
    spec.level = level.value_or(spec.level);
    return level.has_value();
  }
  if (!word.starts_with(kSearchKey)) return false;
  const auto search =
      FindIn<OrtSearch>(kSearchNames, word.substr(kSearchKey.size()));
  spec.search = search.value_or(spec.search);
  return search.has_value();
}

bool ReadWord(std::string_view word, RuntimeSpec& spec) {
  switch (spec.runtime) {
    case Runtime::kEager:
      return false;
    case Runtime::kCompile:
      return ReadCompileWord(word, spec);
    case Runtime::kOnnxRuntime:
      return ReadOrtWord(word, spec);
    case Runtime::kTensorRt:
      if (word == "int8") return spec.int8 = true;
      return word == "sparse" && (spec.sparse = true);
  }
  return false;
}

}  // namespace

std::string_view RuntimeName(Runtime runtime) {
  return NameIn(kRuntimeNames, runtime);
}

std::string ToString(const RuntimeSpec& spec) {
  std::string text(RuntimeName(spec.runtime));
  if (spec.max_autotune) {
    text += spec.cuda_graphs ? ",max-autotune" : ",max-autotune-no-cudagraphs";
  } else if (spec.cuda_graphs) {
    text += ",reduce-overhead";
  }
  if (spec.memory_budget != 1) {
    text += fmt::format(",{}{}", kBudgetKey, spec.memory_budget);
  }
  if (spec.freezing != Freezing::kOff) {
    text += fmt::format(",{}", NameIn(kFreezingNames, spec.freezing));
  }
  text += ModulesText(kBreaksKey, spec.breaks);
  text += ModulesText(kOnlyKey, spec.only);
  if (spec.level != OrtLevel::kAll) {
    text += fmt::format(",{}{}", kLevelKey, NameIn(kLevelNames, spec.level));
  }
  if (spec.search != OrtSearch::kExhaustive) {
    text += fmt::format(",{}{}", kSearchKey, NameIn(kSearchNames, spec.search));
  }
  if (spec.exact_arena) text += ",arena=exact";
  if (spec.nhwc) text += ",nhwc";
  if (spec.overrides) text += ",overrides";
  if (spec.int8) text += ",int8";
  if (spec.sparse) text += ",sparse";
  return text;
}

std::optional<RuntimeSpec> FindRuntime(std::string_view text) {
  std::size_t comma = std::min(text.find(','), text.size());
  const auto runtime = FindIn<Runtime>(kRuntimeNames, text.substr(0, comma));
  if (!runtime) return std::nullopt;
  RuntimeSpec spec{.runtime = *runtime};
  while (comma < text.size()) {
    text.remove_prefix(comma + 1);
    comma = std::min(text.find(','), text.size());
    if (!ReadWord(text.substr(0, comma), spec)) return std::nullopt;
  }
  return spec;
}

RuntimeSpec ParseRuntime(std::string_view flag, std::string_view text) {
  if (const auto spec = FindRuntime(text)) return *spec;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{} '{}': expected eager, compile, onnxruntime or tensorrt; "
                  "behind compile ',reduce-overhead', ',max-autotune', "
                  "',max-autotune-no-cudagraphs', ',budget=0.5' (0 to 1), "
                  "',freezing', ',freezing=discard', "
                  "',only=MODULE|MODULE' or ',breaks=MODULE|MODULE', "
                  "behind onnxruntime "
                  "',level=disabled|basic|extended|all|transformers', "
                  "',search=exhaustive|heuristic|default', ',arena=exact', "
                  "',nhwc' or ',overrides', "
                  "behind tensorrt ',int8' or ',sparse'",
                  flag, text));
}

std::vector<RuntimeSpec> ParseRuntimes(std::string_view flag,
                                       std::string_view text) {
  std::vector<std::string> texts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string word(text.substr(start, comma - start));
    if (texts.empty() || FindIn<Runtime>(kRuntimeNames, word)) {
      texts.push_back(word);
    } else {
      texts.back() += "," + word;
    }
    start = comma + 1;
  }
  std::vector<RuntimeSpec> specs;
  for (const std::string& one : texts) {
    specs.push_back(ParseRuntime(flag, one));
  }
  return specs;
}

}  // namespace foretell
