// Completion scripts are made from the command line's own definition, so they
// cannot disagree with it.

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/command.h"
#include "cli/commands/completion_values.h"
#include "cli/commands/visible_commands.h"
#include "src/core/text.h"

namespace foretell::cli {
namespace {

/// Commands below `command`, its flags, and the networks that it may be given.
std::string Words(const CLI::App& command) {
  std::string words;
  for (const CLI::App* inner : VisibleCommands(command)) {
    words += inner->get_name() + " ";
  }
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& flag : LongFlags(*option)) words += flag + " ";
    if (option->get_positional()) words += Joined(ValuesOf(*option), " ");
  }
  return words;
}

/// Calls `use(command, path)` for `command` and all below it; "mig pack" is a
/// path.
template <typename Use>
void ForEachCommand(const CLI::App& command, const std::string& path,
                    const Use& use) {
  use(command, path);
  for (const CLI::App* inner : VisibleCommands(command)) {
    const std::string prefix = path.empty() ? "" : path + " ";
    ForEachCommand(*inner, prefix + inner->get_name(), use);
  }
}

/// A `case` branch per command, named by its path.
std::string Branches(const CLI::App& app) {
  std::string text;
  ForEachCommand(
      app, "", [&](const CLI::App& command, const std::string& path) {
        text += fmt::format("    '{}') words='{}' ;;\n", path, Words(command));
      });
  return text;
}

/// A branch per flag whose values are known: "mig pack --device".
std::string ValueBranches(const CLI::App& app) {
  std::string text;
  ForEachCommand(app, "",
                 [&](const CLI::App& command, const std::string& path) {
                   for (const CLI::Option* option : command.get_options()) {
                     const std::vector<std::string> values = ValuesOf(*option);
                     if (values.empty()) continue;
                     for (const std::string& flag : LongFlags(*option)) {
                       text += fmt::format("    '{} {}') words='{}' ;;\n", path,
                                           flag, Joined(values, " "));
                     }
                   }
                 });
  return text;
}

/// Paths of the commands below the program, as patterns of "$names $word":
/// each one leads to the branch of its own.
std::string Paths(const CLI::App& app) {
  std::string text;
  ForEachCommand(app, "", [&](const CLI::App&, const std::string& path) {
    if (path.empty()) return;
    const bool is_inner = path.find(' ') != std::string::npos;
    text += fmt::format("      '{}{}') names='{}' ;;\n", is_inner ? "" : " ",
                        path, path);
  });
  return text;
}

/// Walks the words before the cursor for the command path, then offers values
/// of the flag before the cursor, or the command's words, or files. Bash splits
/// "zoo:res" into three words. Zsh runs it too: a variable `path` would be its
/// PATH, and it has no arithmetic in a slice.
std::string BashScript(const CLI::App& app) {
  constexpr std::string_view kScript = R"(_foretell() {{
  local names='' words='' word
  local current="${{COMP_WORDS[COMP_CWORD]}}"
  local before="${{COMP_WORDS[COMP_CWORD-1]}}"
  for word in "${{COMP_WORDS[@]:1:$((COMP_CWORD - 1))}}"; do
    case "$names $word" in
{}    esac
  done
  case "$names" in
{}  esac
  case "$names $before" in
{}  esac
  local first=$COMP_CWORD
  [[ $before == : ]] && first=$((COMP_CWORD - 1))
  if [[ $first -gt 0 && "${{COMP_WORDS[first-1]}}${{COMP_WORDS[first]}}" == zoo: ]]; then
    words="${{words//zoo:/}}"
    [[ $current == : ]] && current=''
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _foretell foretell
)";
  return fmt::format(kScript, Paths(app), Branches(app), ValueBranches(app));
}

/// `text` within single quotes of fish.
std::string FishQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "'";
}

/// The condition under which words of the command at `path` are offered.
std::string FishCondition(const std::string& path) {
  if (path.empty()) return "__fish_use_subcommand";
  std::string condition;
  std::istringstream names(path);
  for (std::string name; names >> name;) {
    condition += fmt::format("{}__fish_seen_subcommand_from {}",
                             condition.empty() ? "" : "; and ", name);
  }
  return condition;
}

/// The condition under which names of commands below `command` are offered.
std::string FishConditionBelow(const CLI::App& command,
                               const std::string& path) {
  std::string condition = FishCondition(path);
  if (path.empty()) return condition;
  condition += "; and not __fish_seen_subcommand_from";
  for (const CLI::App* inner : VisibleCommands(command)) {
    condition += " " + inner->get_name();
  }
  return condition;
}

/// What follows a flag: nothing, one of `values`, or anything.
std::string FishArgument(const CLI::Option& option, const std::string& values) {
  if (!values.empty()) return " -xa " + FishQuoted(values);
  return option.get_items_expected_max() > 0 ? " -r" : "";
}

std::string FishFlag(const CLI::Option& option, const std::string& condition) {
  std::string text;
  const std::string values = Joined(ValuesOf(option), " ");
  const std::string what = FishQuoted(option.get_description());
  if (option.get_positional() && !values.empty()) {
    return fmt::format("complete -c foretell -n {} -a {} -d {}\n",
                       FishQuoted(condition), FishQuoted(values), what);
  }
  for (const std::string& name : option.get_lnames()) {
    text += fmt::format("complete -c foretell -n {} -l {}{} -d {}\n",
                        FishQuoted(condition), name,
                        FishArgument(option, values), what);
  }
  return text;
}

std::string FishScript(const CLI::App& app) {
  std::string text;
  ForEachCommand(
      app, "", [&](const CLI::App& command, const std::string& path) {
        for (const CLI::App* inner : VisibleCommands(command)) {
          text += fmt::format("complete -c foretell -n {} -a {} -d {}\n",
                              FishQuoted(FishConditionBelow(command, path)),
                              inner->get_name(),
                              FishQuoted(inner->get_description()));
        }
        const std::string condition = FishCondition(path);
        for (const CLI::Option* option : command.get_options()) {
          text += FishFlag(*option, condition);
        }
      });
  return text;
}

}  // namespace

void AddCompletion(CLI::App& app, ExitCode& exit_code) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion",
      "Prints a completion script: source <(foretell completion "
      "bash), or foretell completion fish | source");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, shell, &exit_code] {
    exit_code = kExitOk;
    if (*shell == "fish") {
      std::cout << FishScript(app);
      return;
    }
    if (*shell == "zsh") {
      std::cout << "autoload -U +X bashcompinit && bashcompinit\n";
    }
    std::cout << BashScript(app);
  });
}

}  // namespace foretell::cli
