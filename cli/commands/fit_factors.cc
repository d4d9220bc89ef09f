// The fit of two factors to points in a file, for
// scripts/published/score_left_out_devices.py: what it judges is what `adapt`
// does. Not for users.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "src/core/files.h"
#include "src/core/json_object.h"
#include "src/correct/two_factors.h"

namespace foretell::cli {
namespace {

/// Pairs of logarithms of ratio and rate, by the sets to fit.
using PointSets = std::vector<std::vector<std::vector<double>>>;

void RunFitFactors(const std::string& path) {
  const nlohmann::json document = ParseJson(ReadText(path), path);
  nlohmann::json fits = nlohmann::json::array();
  for (const auto& set :
       JsonObject(document, path, "").Get<PointSets>("sets")) {
    std::vector<FactorPoint> points;
    for (const std::vector<double>& pair : set) {
      points.push_back({.log_ratio = pair.at(0), .log_rate = pair.at(1)});
    }
    const LevelAndExponent fit = FitLevelAndExponent(points);
    fits.push_back({fit.level, fit.exponent});
  }
  std::cout << fits << "\n";
}

}  // namespace

void AddFitFactors(CLI::App& app, ExitCode&) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "fit-factors", "Two factors of each of many sets of points");
  command->group("");  // Not in the help.
  command->add_option("POINTS", *path, R"({"sets": [[[ratio, rate], …], …]})")
      ->required();
  command->callback([path] { RunFitFactors(*path); });
}

}  // namespace foretell::cli
