#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

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

/// Adds a flag that takes one value or several, with commas between.
template <typename Value>
CLI::Option* AddList(CLI::App& command, const std::string& flags,
                     std::vector<Value>& values, const std::string& help) {
  return command.add_option(flags, values, help)
      ->delimiter(',')
      ->allow_extra_args(false);
}

}  // namespace foretell::cli
