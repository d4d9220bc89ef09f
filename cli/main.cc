// foretell: what predicts. cli/lab.cc is its other half.

#include <cstddef>
#include <span>

#include "cli/commands/command_table.h"
#include "cli/commands/program.h"

int main(int argc, char** argv) {
  using namespace foretell::cli;
  return RunProgram(kCommands<Home::kForetell>,
                    std::span(argv, static_cast<std::size_t>(argc)));
}
