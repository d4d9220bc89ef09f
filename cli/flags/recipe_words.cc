#include "cli/flags/recipe_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "cli/flags/model_options.h"
#include "cli/flags/number_checks.h"
#include "cli/flags/synonyms.h"
#include "foretell/error.h"
#include "src/core/parse_number.h"
#include "src/core/text.h"
#include "src/recipes/recipe.h"

namespace foretell::cli {
namespace {

constexpr char kConfigFlag[] = "--config";
constexpr char kGpusFlag[] = "--gpus";

/// A flag of a file and one of the user that replaces it.
struct ReplacedFlag {
  std::string_view flag;
  std::string_view by;
};

constexpr ReplacedFlag kReplaced[] = {
    {"--lora", "--method"},
    {"--quantize", "--method"},
    {"--precision", "--method"},
    {"--autocast", "--method"},
    {"--precision", "--autocast"},
    {"--autocast", "--precision"},
    {"--fused", "--optimizer"},
    {"--foreach", "--optimizer"},
    {"--recompute", "--no-checkpointing"},
    {"--no-checkpointing", "--recompute"},
};

/// What the user gave to a command.
struct GivenWords {
  std::set<std::string> flags;  ///< By their long names.
  std::vector<std::string> configs;
  std::optional<int> gpus;
  bool has_model = false;
};

/// `words` after the command's name, by the arities of its flags.
GivenWords GivenIn(const CLI::App& command,
                   std::span<const std::string> words) {
  GivenWords given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--" || word.size() < 2 || word.front() != '-') {
      given.has_model |= word != "--" || i + 1 < words.size();
      continue;
    }
    std::size_t equals = std::min(word.find('='), word.size());
    const CLI::Option* option =
        command.get_option_no_throw(word.substr(0, equals));
    if (option == nullptr && word[1] != '-') {  // -b2
      option = command.get_option_no_throw(word.substr(0, 2));
      equals = 1;
    }
    if (option == nullptr) continue;
    std::string value;
    if (equals < word.size()) {
      value = word.substr(equals + 1);
    } else if (option->get_items_expected_max() > 0 && i + 1 < words.size()) {
      value = words[++i];
    }
    const std::string name = option->get_name();
    given.flags.insert(name);
    if (name == kConfigFlag) given.configs.push_back(value);
    if (name == kGpusFlag) given.gpus = ParseNumber<int>(value);
  }
  return given;
}

bool IsReplaced(const std::string& flag, const std::set<std::string>& given) {
  return given.count(flag) > 0 ||
         std::ranges::any_of(kReplaced, [&](const ReplacedFlag& row) {
           return row.flag == flag && given.count(std::string(row.by)) > 0;
         });
}

/// As a shell needs it.
std::string Quoted(const std::string& word) {
  constexpr std::string_view kSpecial = "|()\\[]*?$ ;&<>\"#~";
  return word.find_first_of(kSpecial) == std::string::npos ? word
                                                           : "'" + word + "'";
}

void PrintRecipe(const GivenWords& given, const recipes::Recipe& recipe,
                 const std::vector<std::string>& words) {
  std::string line =
      fmt::format("{} ({}):", Joined(given.configs), recipe.tools);
  for (const std::string& word : words) line += " " + Quoted(word);
  PrintNote(line);
  if (recipe.left_out.empty()) return;
  PrintNote(fmt::format("not modelled: {}", Joined(recipe.left_out)));
}

}  // namespace

void AddRecipeFlags(CLI::App& command) {
  // WithRecipes has read their values.
  command
      .add_option_function<std::vector<std::string>>(
          kConfigFlag, [](const std::vector<std::string>&) {},
          "File that a run is started with, of axolotl, LLaMA-Factory, "
          "torchtune, litgpt, unsloth, TRL, transformers, PEFT, accelerate, "
          "DeepSpeed and others (docs/finetuning.md); may be repeated; flags "
          "replace what it states")
      ->allow_extra_args(false);
  command
      .add_option_function<int>(
          kGpusFlag, [](int) {},
          "GPUs that run the step of --config; default: as it states, else 1")
      ->check(AboveZero());
}

std::vector<std::string> WithRecipes(const CLI::App& app,
                                     std::vector<std::string> words) {
  const CLI::App& command = CalledIn(app, words);
  if (command.get_option_no_throw(kConfigFlag) == nullptr) return words;
  const auto name = std::ranges::find(words, command.get_name());
  const auto first = std::next(name);
  const GivenWords given = GivenIn(command, {first, words.end()});
  if (given.configs.empty()) return words;
  const recipes::Recipe recipe = recipes::ReadRecipe(given.configs, given.gpus);
  std::vector<std::string> stated;
  if (!given.has_model && !recipe.model.empty()) {
    stated.push_back(recipe.model);
  }
  for (const recipes::RecipeFlag& flag : recipe.flags) {
    if (IsReplaced(flag.name, given.flags)) continue;
    stated.push_back(flag.name);
    if (!flag.value.empty()) stated.push_back(flag.value);
  }
  PrintRecipe(given, recipe, stated);
  if (!given.has_model && recipe.model.empty() &&
      given.flags.count("--help") == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: no network is stated that foretell knows; "
                            "name it before the flags, by a config.json or as "
                            "`foretell zoo list --hub` does",
                            Joined(given.configs)));
  }
  words.insert(first, stated.begin(), stated.end());
  return words;
}

}  // namespace foretell::cli
