// foretell-lab: all subcommands, those too that train, measure or keep
// datasets. cli/main.cc is the part of it that is called first.

#include <cstddef>
#include <span>

#include "cli/commands/command_table.h"
#include "cli/commands/program.h"

int main(int argc, char** argv) {
  using namespace foretell::cli;
  return RunProgram(kCommands<Home::kLab>,
                    std::span(argv, static_cast<std::size_t>(argc)));
}
