#pragma once

#include <CLI/CLI.hpp>

#include <vector>

namespace foretell::cli {

/// Subcommands of `command` that the help shows, too.
inline std::vector<const CLI::App*> VisibleCommands(const CLI::App& command) {
  return command.get_subcommands(
      [](const CLI::App* inner) { return !inner->get_group().empty(); });
}

}  // namespace foretell::cli
