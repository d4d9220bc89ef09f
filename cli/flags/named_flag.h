#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace foretell::cli {

/// Adds a flag whose value is one of an enumeration's names. `value` is its
/// default and must outlive the command.
template <typename Value>
CLI::Option* AddNamed(CLI::App& command, const std::string& flags, Value& value,
                      const std::vector<Value>& choices,
                      std::string_view (*name_of)(Value),
                      const std::string& help) {
  std::vector<std::string> names;
  std::map<std::string, Value> by_name;
  for (const Value choice : choices) {
    names.emplace_back(name_of(choice));
    by_name.emplace(names.back(), choice);
  }
  return command
      .add_option_function<std::string>(
          flags,
          [&value, by_name](const std::string& name) {
            value = by_name.at(name);
          },
          help)
      ->check(CLI::IsMember(names))
      ->default_str(std::string(name_of(value)));
}

}  // namespace foretell::cli
