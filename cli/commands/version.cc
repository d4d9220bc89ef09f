#include "foretell/version.h"

#include <torch/version.h>

#include <CLI/CLI.hpp>

#include <iostream>

#include "cli/commands/command.h"

namespace foretell::cli {

void AddVersion(CLI::App& app, ExitCode& exit_code) {
  CLI::App* command =
      app.add_subcommand("version", "Versions of foretell and LibTorch");
  command->callback([&exit_code] {
    std::cout << "foretell " << kVersion << "\nLibTorch " << TORCH_VERSION
              << "\n";
    exit_code = kExitOk;
  });
}

}  // namespace foretell::cli
