// foretell-lab: all subcommands, including those that train, measure or keep
// datasets. cli/main.cc is the program that users call first.

#include "cli/commands/command_table.h"
#include "cli/commands/program.h"

int main(int argc, char** argv) {
  using namespace foretell::cli;
  RunMain(kCommands<Home::kLab>, argc, argv);
}
