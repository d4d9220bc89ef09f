#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace foretell::cli {

/// Flags that choose which pass of a language model of the zoo is run: the
/// fields `phase` and `cache` of its configuration (docs/zoo.md).
struct PhaseFlags {
  std::string phase;
  std::optional<std::int64_t> cache;

  /// Adds --phase and --cache; `this` must outlive the command.
  void AddTo(CLI::App& command);
  /// `model` with the fields that the flags give after its own. Throws
  /// Error(kInvalidArgument) for a file if any such flag was given.
  std::string Apply(const std::string& model) const;
};

}  // namespace foretell::cli
