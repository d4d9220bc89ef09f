// Manual pages are made from the command line's own definition, as completion
// scripts are, so they cannot disagree with it.

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <string>

#include "cli/commands/command.h"
#include "cli/commands/visible_commands.h"
#include "foretell/version.h"
#include "src/core/output_file.h"

namespace foretell::cli {
namespace {

/// `text` as roff prints it: backslashes and hyphens stay, and no line begins a
/// request.
std::string Roff(const std::string& text) {
  std::string escaped;
  bool line_begins = true;
  for (const char letter : text) {
    if (line_begins && (letter == '.' || letter == '\'')) escaped += "\\&";
    if (letter == '\\') {
      escaped += "\\e";
    } else if (letter == '-') {
      escaped += "\\-";
    } else {
      escaped += letter;
    }
    line_begins = letter == '\n';
  }
  return escaped;
}

/// Lines as they are, for examples.
std::string Unfilled(const std::string& text) {
  return fmt::format(".nf\n{}\n.fi\n", Roff(text));
}

std::string PageName(std::string path) {
  for (char& letter : path) {
    if (letter == ' ') letter = '-';
  }
  return path;
}

std::string OptionText(const CLI::Option& option) {
  std::string values = option.get_type_name();
  if (!option.get_default_str().empty()) {
    values += fmt::format(" [{}]", option.get_default_str());
  }
  return fmt::format(".TP\n\\fB{}\\fR {}\n{}\n",
                     Roff(option.get_name(true, true)), Roff(values),
                     Roff(option.get_description()));
}

std::string CommandList(const CLI::App& command, const std::string& path) {
  std::string text;
  for (const CLI::App* inner : VisibleCommands(command)) {
    text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n",
                        Roff(PageName(path + " " + inner->get_name())),
                        Roff(inner->get_description()));
  }
  return text.empty() ? text : ".SH COMMANDS\n" + text;
}

/// What may follow the command's name: " [options] MODEL...".
std::string Arguments(const CLI::App& command) {
  std::string text = " [options]";
  if (!VisibleCommands(command).empty()) text += " COMMAND";
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_single_name();
    const std::string several =
        option->get_items_expected_max() > 1 ? "..." : "";
    text += option->get_required() ? fmt::format(" {}{}", name, several)
                                   : fmt::format(" [{}{}]", name, several);
  }
  return text;
}

std::string Page(const CLI::App& command, const std::string& path) {
  const std::string name = PageName(path);
  std::string text =
      fmt::format(".TH \"{}\" 1 \"\" \"foretell {}\" \"foretell\"\n", name,
                  kVersion) +
      fmt::format(".SH NAME\n{} \\- {}\n", Roff(name),
                  Roff(command.get_description())) +
      fmt::format(".SH SYNOPSIS\n\\fB{}\\fR{}\n", Roff(path),
                  Roff(Arguments(command))) +
      CommandList(command, path) + ".SH OPTIONS\n";
  for (const CLI::Option* option : command.get_options()) {
    text += OptionText(*option);
  }
  const std::string footer = command.get_footer();
  return footer.empty() ? text : text + ".SH NOTES\n" + Unfilled(footer);
}

void WritePages(const CLI::App& command, const std::string& path,
                const std::filesystem::path& folder) {
  WriteWhole(folder / (PageName(path) + ".1"), Page(command, path));
  for (const CLI::App* inner : VisibleCommands(command)) {
    WritePages(*inner, path + " " + inner->get_name(), folder);
  }
}

}  // namespace

void AddManual(CLI::App& app, ExitCode& exit_code) {
  auto folder = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("manual", "Writes the manual pages into a folder");
  command->group("");  // Not in the help.
  command->add_option("FOLDER", *folder, "Folder; created if missing")
      ->required();
  command->callback([&app, folder, &exit_code] {
    std::filesystem::create_directories(*folder);
    WritePages(app, "foretell", *folder);
    exit_code = kExitOk;
  });
}

}  // namespace foretell::cli
