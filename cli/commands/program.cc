#include "cli/commands/program.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/commands/exit_code.h"
#include "cli/commands/lab_program.h"
#include "cli/commands/usage_problem.h"
#include "cli/flags/flag_groups.h"
#include "cli/flags/model_options.h"
#include "cli/flags/partners.h"
#include "cli/flags/recipe_words.h"
#include "cli/flags/synonyms.h"
#include "foretell/error.h"
#include "foretell/version.h"
#include "src/core/parse_number.h"
#include "src/core/process.h"
#include "src/core/text.h"
#include "src/core/work_folder.h"

namespace foretell::cli {
namespace {

constexpr char kExitCodes[] =
    "Exit status: 0 success;\n"
    "1 does not fit (fits, max-batch, plan, mig pack), or adapt increases "
    "errors;\n"
    "2 wrong usage; 3 at least one model failed; 4 a bug in foretell;\n"
    "5 training was interrupted and can be resumed.";

constexpr char kHelpAll[] = "--help-all";

bool AsksForHelp(std::span<const std::string> words) {
  return std::ranges::count(words, "--help") > 0 ||
         std::ranges::count(words, "-h") > 0;
}

void AddCommands(std::span<const CommandRow> commands, CLI::App& app,
                 ExitCode& exit_code) {
  for (const CommandRow& row : commands) {
    if (row.add != nullptr) {
      row.add(app, exit_code);
    } else if (*row.help != '\0') {
      app.add_subcommand(std::string(row.name), row.help);
    }
  }
}

/// Why `text` is not a whole number of type `Whole`; else empty. CLI11 reads
/// numbers beyond 64 bits as the largest, and lets negative ones wrap around.
template <typename Whole>
std::string WholeNumberProblem(const std::string& text) {
  constexpr bool kSigned = std::is_signed_v<Whole>;
  Whole number = 0;
  const auto status =
      std::from_chars(text.data(), text.data() + text.size(), number).ec;
  if (status == std::errc::result_out_of_range) {
    return text + " is beyond 64 bits";
  }
  const bool wraps = !kSigned && text.find('-') != std::string::npos;
  if (!wraps && CLI::detail::lexical_cast(text, number)) return "";
  return fmt::format("'{}': expected a whole number{}", text,
                     kSigned ? "" : " from 0");
}

/// What is wrong with `text` for a flag of CLI11's type `type`: NaN passes
/// ranges, and is neither kept nor exceeded as a limit. Empty if there is
/// nothing that CLI11 would not find itself.
std::string NumberProblem(std::string_view type, const std::string& text) {
  if (type.starts_with("FLOAT")) {
    const std::optional<double> number = ParseNumber<double>(text);
    if (number && !std::isfinite(*number)) return text + " is no finite number";
  }
  if (type.starts_with("INT")) return WholeNumberProblem<std::int64_t>(text);
  if (type.starts_with("UINT")) return WholeNumberProblem<std::uint64_t>(text);
  return "";
}

void CheckNumbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    option->check(
        [type](const std::string& text) { return NumberProblem(type, text); },
        "");
  }
  for (CLI::App* command : app.get_subcommands({})) CheckNumbers(*command);
}

/// Prints the help, or what is wrong with the command line.
ExitCode PrintEnd(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) {
    PrintError(UsageProblem(app, error));
    return kExitUsage;
  }
  std::ostringstream nothing;
  app.exit(error, std::cout, nothing);
  return kExitOk;
}

/// `foretell help predict` as `foretell predict --help`.
std::vector<char*> WithHelpAsFlag(std::span<char* const> arguments) {
  static char flag[] = "--help";
  std::vector<char*> words(arguments.begin(), arguments.end());
  if (words.size() < 2 || std::string_view(words[1]) != "help") return words;
  words.erase(words.begin() + 1);
  words.push_back(flag);
  return words;
}

/// Everything except the final check that stdout was written.
ExitCode RunCommand(std::span<const CommandRow> commands,
                    std::span<char* const> given) {
  std::vector<char*> arguments = WithHelpAsFlag(given);
  CLI::App app(
      "Predicts memory, latency and energy of a deep network on an NVIDIA GPU, "
      "and the MIG slice that holds it, without a GPU.",
      "foretell");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.footer(kExitCodes);
  ExitCode exit_code = kExitOk;
  AddCommands(commands, app, exit_code);
  CheckNumbers(app);
  GroupFlags(app);
  app.parse_complete_callback([&app] { RequirePartners(app); });
  try {
    PassOnToLab(arguments, commands);
    std::vector<std::string> words =
        InOwnWords(app, {arguments.begin() + 1, arguments.end()});
    if (std::erase(words, kHelpAll) > 0) {
      words.emplace_back("--help");
    } else if (AsksForHelp(words)) {
      HideAdvancedFlags(app);
    }
    words = WithRecipes(app, std::move(words));
    std::ranges::reverse(words);  // CLI11 takes them from the back.
    app.parse(std::move(words));
    return exit_code;
  } catch (const CLI::ParseError& error) {
    return PrintEnd(app, error);
  } catch (const Error& error) {
    PrintError(error.what());
    return ExitCodeOf(error.code());
  } catch (const std::exception& error) {
    PrintError(FirstLine(error.what()));
    return kExitInternal;
  }
}

}  // namespace

int RunProgram(std::span<const CommandRow> commands,
               std::span<char* const> arguments) {
  // Writing beyond `ulimit -f` is an error as on a full disk, not the end.
  std::signal(SIGXFSZ, SIG_IGN);
  const ExitCode exit_code = RunCommand(commands, arguments);
  // A script that reads half an answer must not mistake it for all of it.
  if (std::cout.flush()) return exit_code;
  PrintError("cannot write to stdout: the output is incomplete");
  return exit_code == kExitOk ? kExitModelFailed : exit_code;
}

void RunMain(std::span<const CommandRow> commands, int argc, char** argv) {
  WorkFolder::Sweep();
  const int status =
      RunProgram(commands, std::span(argv, static_cast<std::size_t>(argc)));
  // Where no process reaps orphans, as in many containers, children that are
  // left would stay.
  ChildProcess::BuryAbandoned();
  std::_Exit(status);
}

}  // namespace foretell::cli
