// foretell: the commands that predict. cli/lab.cc is its other half.

#include "cli/commands/command_table.h"
#include "cli/commands/program.h"

int main(int argc, char** argv) {
  using namespace foretell::cli;
  RunMain(kCommands<Home::kForetell>, argc, argv);
}
