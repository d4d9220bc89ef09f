#include "foretell/zoo.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/print/print_zoo.h"

namespace foretell::cli {
namespace {

constexpr char kZooExamples[] =
    "Examples:\n"
    "  foretell zoo list\n"
    "  foretell zoo list --sweep dippm --count\n"
    "  foretell zoo show resnet50\n"
    "  foretell predict 'zoo:resnet50?image_size=160' --batch 8";

struct ListOptions {
  std::string sweep;
  bool hub = false;
  bool count = false;
  bool json = false;
};

std::string FormatList(const ListOptions& options) {
  if (options.sweep.empty()) {
    return FormatNames(options.hub ? zoo::HubNames() : zoo::Names(),
                       options.json);
  }
  const std::vector<zoo::SweepPoint> points = zoo::ListSweep(options.sweep);
  return options.count ? FormatCounts(points, options.json)
                       : FormatPoints(points, options.json);
}

void AddList(CLI::App& zoo, ExitCode& exit_code) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* list = zoo.add_subcommand(
      "list", "List stock networks, or the points of a sweep");
  CLI::Option* sweep =
      list->add_option("--sweep", options->sweep,
                       "List the points of this sweep instead of names");
  list->add_flag("--hub", options->hub,
                 "List networks of the Hugging Face Hub instead")
      ->excludes(sweep);
  list->add_flag("--count", options->count,
                 "Print the number of points per family");
  list->add_flag("--json", options->json, "JSON document on stdout");
  list->callback([options, &exit_code] {
    std::cout << FormatList(*options);
    exit_code = kExitOk;
  });
}

void AddShow(CLI::App& zoo, ExitCode& exit_code) {
  auto name = std::make_shared<std::string>();
  CLI::App* show = zoo.add_subcommand(
      "show", "Print the configuration of a network as JSON");
  show->add_option("NAME", *name,
                   "resnet50, resnet50?image_size=160, or a config.json")
      ->required();
  show->callback([name, &exit_code] {
    std::cout << FormatDescription(zoo::Describe(*name));
    exit_code = kExitOk;
  });
}

}  // namespace

void AddZoo(CLI::App& app, ExitCode& exit_code) {
  CLI::App* zoo =
      app.add_subcommand("zoo", "List built-in networks and their sweeps");
  zoo->require_subcommand(1);
  zoo->footer(kZooExamples);
  AddList(*zoo, exit_code);
  AddShow(*zoo, exit_code);
}

}  // namespace foretell::cli
