// Completion scripts are made from the command line's own definition, so they
// cannot disagree with it.

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>

#include "cli/commands/command.h"
#include "cli/commands/visible_commands.h"

namespace foretell::cli {
namespace {

std::string Words(const CLI::App& command) {
  std::string words;
  for (const CLI::App* inner : VisibleCommands(command)) {
    words += inner->get_name() + " ";
  }
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      words += "--" + name + " ";
    }
  }
  return words;
}

/// A `case` branch per command, named by its path ("mig pack").
std::string Branches(const CLI::App& command, const std::string& path) {
  std::string text = "    '" + path + "') words='" + Words(command) + "' ;;\n";
  for (const CLI::App* inner : VisibleCommands(command)) {
    const std::string prefix = path.empty() ? "" : path + " ";
    text += Branches(*inner, prefix + inner->get_name());
  }
  return text;
}

/// Paths of the commands below `command`, as patterns of "$names $word": each
/// one leads to the branch of its own.
std::string Paths(const CLI::App& command, const std::string& path) {
  std::string text;
  for (const CLI::App* inner : VisibleCommands(command)) {
    const std::string longer = path + " " + inner->get_name();
    text += "      '" + longer + "') names='" +
            longer.substr(longer.find_first_not_of(' ')) + "' ;;\n";
    text += Paths(*inner, longer.substr(longer.find_first_not_of(' ')));
  }
  return text;
}

/// Walks the words before the cursor for the command path, then offers its
/// words, or files. Zsh runs it too: a variable `path` would be its PATH, and
/// it has no arithmetic in a slice.
std::string BashScript(const CLI::App& app) {
  return "_foretell() {\n"
         "  local names='' words='' word\n"
         "  for word in \"${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}\"; do\n"
         "    case \"$names $word\" in\n" +
         Paths(app, "") +
         "    esac\n"
         "  done\n"
         "  case \"$names\" in\n" +
         Branches(app, "") +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- "
         "\"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -o default -F _foretell foretell\n";
}

}  // namespace

void AddCompletion(CLI::App& app, ExitCode& exit_code) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion",
      "Prints a completion script: source <(foretell completion "
      "bash)");
  command->add_option("SHELL", *shell, "bash, or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  command->callback([&app, shell, &exit_code] {
    if (*shell == "zsh") {
      std::cout << "autoload -U +X bashcompinit && bashcompinit\n";
    }
    std::cout << BashScript(app);
    exit_code = kExitOk;
  });
}

}  // namespace foretell::cli
