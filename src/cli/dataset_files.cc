#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "foretell/dataset.h"
#include "src/cli/dataset.h"
#include "src/core/text_table.h"

namespace foretell::cli {
namespace {

ExitCode RunCheck(const std::string& path) {
  const std::vector<Damage> damage = CheckDataset(path);
  if (damage.empty()) {
    std::cout << OneLine(path) << ": sound\n";
    return kExitOk;
  }
  for (const Damage& found : damage) {
    std::cout << OneLine(path + ": " + ToString(found)) << "\n";
  }
  return kExitModelFailed;
}

}  // namespace

void AddDatasetCheck(CLI::App& app, ExitCode& exit_code) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "check", "Look for damage: pages, schema, checksums, references");
  command->add_option("DATASET", *path, "Dataset")->required();
  command->callback([path, &exit_code] { exit_code = RunCheck(*path); });
}

}  // namespace foretell::cli
