#include "cli/commands/usage_problem.h"

#include <fmt/core.h>

#include <string_view>
#include <vector>

#include "cli/commands/visible_commands.h"
#include "cli/flags/synonyms.h"
#include "src/core/nearest.h"
#include "src/core/text.h"

namespace foretell::cli {
namespace {

/// The first command that was given a word which it does not know, or else the
/// innermost one.
const CLI::App& Wrong(const CLI::App& app) {
  const std::vector<CLI::App*> inner = app.get_subcommands();
  if (inner.empty() || !app.remaining().empty()) return app;
  return Wrong(*inner.front());
}

/// "foretell mig pack"
std::string FullName(const CLI::App& command) {
  if (command.get_parent() == nullptr) return command.get_name();
  return FullName(*command.get_parent()) + " " + command.get_name();
}

std::vector<std::string> CommandNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* inner : VisibleCommands(command)) {
    names.push_back(inner->get_name());
  }
  return names;
}

std::vector<std::string> FlagNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

/// Complains of a word that `command` does not know.
std::string UnknownWord(const CLI::App& command, const std::string& word) {
  const bool is_flag = word.size() > 1 && word.starts_with('-');
  const std::string_view name =
      std::string_view(word).substr(0, word.find('='));
  const std::vector<std::string> known =
      is_flag ? FlagNames(command) : CommandNames(command);
  const char* kind = is_flag ? "flag" : "command";
  if (known.empty()) return fmt::format("'{}' is not expected", word);
  const std::string_view hint = HintFor(name);
  if (!hint.empty()) return fmt::format("no {} '{}': {}", kind, word, hint);
  const std::vector<std::string> near = Nearest(name, known);
  if (near.empty()) return fmt::format("no {} '{}'", kind, word);
  return fmt::format("no {} '{}'; near: {}", kind, word, Joined(near));
}

/// Complains of a value: CLI11 reports that it cannot convert it for a flag.
std::string BadValue(const CLI::App& command, const std::string& what) {
  constexpr std::string_view kBegin = "Could not convert: ";
  constexpr std::string_view kBetween = " = ";
  const std::size_t between = what.find(kBetween);
  if (!what.starts_with(kBegin) || between == std::string::npos) return what;
  const std::string name = what.substr(kBegin.size(), between - kBegin.size());
  const std::string value = what.substr(between + kBetween.size());
  const CLI::Option* option = command.get_option_no_throw(name);
  const bool is_flag =
      option != nullptr && option->get_items_expected_max() == 0;
  return fmt::format("{}: {} '{}'", name,
                     is_flag ? "takes no value, got" : "cannot be", value);
}

/// Complains of too many values in the words of other messages; CLI11 says
/// "MODEL: At Most 1 required but received 2".
std::string TooMany(const CLI::App& command, const std::string& what) {
  constexpr std::string_view kBetween = ": At Most 1 required but received ";
  const std::size_t between = what.find(kBetween);
  if (between == std::string::npos) return BadValue(command, what);
  return fmt::format("{} takes one {}, got {}", command.get_name(),
                     what.substr(0, between),
                     what.substr(between + kBetween.size()));
}

std::string Complaint(const CLI::App& command, const CLI::ParseError& error) {
  const bool is_word = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool is_missing =
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::vector<std::string> unknown = command.remaining();
  if (unknown.empty()) return TooMany(command, error.what());
  // The value of an unknown flag is parsed as one more MODEL.
  const bool is_flag = unknown.front().starts_with('-');
  if (!is_word && !is_missing && !is_flag) return error.what();
  return UnknownWord(command, unknown.front());
}

}  // namespace

std::string UsageProblem(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = Wrong(app);
  return fmt::format("{}; see {} --help", Complaint(command, error),
                     FullName(command));
}

}  // namespace foretell::cli
