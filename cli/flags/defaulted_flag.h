#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace foretell::cli {

/// Adds a flag whose help shows the default, which is what `value` holds, and
/// whose value must pass `checks`. `value` must outlive the command.
template <typename Value, typename... Checks>
CLI::Option* AddDefaulted(CLI::App& command, const std::string& flags,
                          Value& value, const std::string& help,
                          const Checks&... checks) {
  CLI::Option* option = command.add_option(flags, value, help);
  (option->check(checks), ...);
  return option->capture_default_str();
}

}  // namespace foretell::cli
