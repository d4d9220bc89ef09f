#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace foretell::cli {

/// Values of an enumeration by their names, which keep their order.
template <typename Value>
struct NamedChoices {
  template <typename NameOf>
  NamedChoices(const std::vector<Value>& choices, NameOf name_of) {
    for (const Value& choice : choices) {
      names.emplace_back(name_of(choice));
      by_name.emplace(names.back(), choice);
    }
  }

  std::vector<std::string> names;
  std::map<std::string, Value> by_name;
};

/// Adds a flag whose value is one of an enumeration's names. `value` is its
/// default and must outlive the command.
template <typename Value, typename NameOf>
CLI::Option* AddNamed(CLI::App& command, const std::string& flags, Value& value,
                      const std::vector<Value>& choices, NameOf name_of,
                      const std::string& help) {
  const NamedChoices<Value> named(choices, name_of);
  return command
      .add_option_function<std::string>(
          flags,
          [&value, named](const std::string& name) {
            value = named.by_name.at(name);
          },
          help)
      ->check(CLI::IsMember(named.names))
      ->default_str(std::string(name_of(value)));
}

/// Adds a flag whose values are names, separated by commas. `values` must
/// outlive the command; what is given replaces it.
template <typename Value, typename NameOf>
CLI::Option* AddNamedList(CLI::App& command, const std::string& flags,
                          std::vector<Value>& values,
                          const std::vector<Value>& choices, NameOf name_of,
                          const std::string& help) {
  const NamedChoices<Value> named(choices, name_of);
  return command
      .add_option_function<std::vector<std::string>>(
          flags,
          [&values, named](const std::vector<std::string>& names) {
            values.clear();
            for (const std::string& name : names) {
              values.push_back(named.by_name.at(name));
            }
          },
          help)
      ->delimiter(',')
      ->check(CLI::IsMember(named.names));
}

}  // namespace foretell::cli
