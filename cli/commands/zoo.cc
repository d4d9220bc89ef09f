#include "foretell/zoo.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/command.h"

namespace foretell::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kZooExamples[] =
    "Examples:\n"
    "  foretell zoo list\n"
    "  foretell zoo list --sweep dippm --count\n"
    "  foretell zoo show resnet50\n"
    "  foretell predict 'zoo:resnet50?image_size=160' --batch 8";

struct ListOptions {
  std::string sweep;
  bool count = false;
  bool json = false;
};

/// Families in the order of the points.
std::vector<std::pair<std::string, std::int64_t>> CountFamilies(
    const std::vector<zoo::SweepPoint>& points) {
  std::vector<std::pair<std::string, std::int64_t>> counts;
  for (const zoo::SweepPoint& point : points) {
    if (counts.empty() || counts.back().first != point.family) {
      counts.emplace_back(point.family, 0);
    }
    ++counts.back().second;
  }
  return counts;
}

void PrintCounts(const std::vector<zoo::SweepPoint>& points, bool as_json) {
  if (as_json) {
    Json json = Json::object();
    for (const auto& [family, count] : CountFamilies(points)) {
      json[family] = count;
    }
    std::cout << json.dump(2) << "\n";
    return;
  }
  for (const auto& [family, count] : CountFamilies(points)) {
    std::cout << family << " " << count << "\n";
  }
  std::cout << "total " << points.size() << "\n";
}

void PrintPoints(const std::vector<zoo::SweepPoint>& points, bool as_json) {
  if (!as_json) {
    for (const zoo::SweepPoint& point : points) {
      std::cout << zoo::kPrefix << point.model << " --batch " << point.batch
                << "\n";
    }
    return;
  }
  Json json = Json::array();
  for (const zoo::SweepPoint& point : points) {
    json.push_back({{"family", point.family},
                    {"model", std::string(zoo::kPrefix) + point.model},
                    {"batch", point.batch}});
  }
  std::cout << json.dump(2) << "\n";
}

void PrintNames(bool as_json) {
  const std::vector<std::string> names = zoo::Names();
  if (as_json) {
    std::cout << Json(names).dump(2) << "\n";
    return;
  }
  for (const std::string& name : names) std::cout << name << "\n";
}

void RunList(const ListOptions& options) {
  if (options.sweep.empty()) return PrintNames(options.json);
  const std::vector<zoo::SweepPoint> points = zoo::ListSweep(options.sweep);
  if (options.count) return PrintCounts(points, options.json);
  PrintPoints(points, options.json);
}

void RunShow(const std::string& name) {
  const zoo::Description description = zoo::Describe(name);
  Json json = {{"family", description.family},
               {"configuration", Json::parse(description.json)}};
  std::cout << json.dump(2) << "\n";
}

void AddList(CLI::App& zoo, ExitCode& exit_code) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* list =
      zoo.add_subcommand("list", "Stock networks, or the points of a sweep");
  CLI::Option* sweep = list->add_option(
      "--sweep", options->sweep, "Points of this sweep instead of names");
  list->add_flag("--count", options->count, "How many points per family")
      ->needs(sweep);
  list->add_flag("--json", options->json, "JSON document on stdout");
  list->callback([options, &exit_code] {
    RunList(*options);
    exit_code = kExitOk;
  });
}

void AddShow(CLI::App& zoo, ExitCode& exit_code) {
  auto name = std::make_shared<std::string>();
  CLI::App* show =
      zoo.add_subcommand("show", "Configuration of one network, as JSON");
  show->add_option("NAME", *name, "resnet50, or resnet50?image_size=160")
      ->required();
  show->callback([name, &exit_code] {
    RunShow(*name);
    exit_code = kExitOk;
  });
}

}  // namespace

void AddZoo(CLI::App& app, ExitCode& exit_code) {
  CLI::App* zoo =
      app.add_subcommand("zoo", "Networks that need no file, and their sweeps");
  zoo->require_subcommand(1);
  zoo->footer(kZooExamples);
  AddList(*zoo, exit_code);
  AddShow(*zoo, exit_code);
}

}  // namespace foretell::cli
