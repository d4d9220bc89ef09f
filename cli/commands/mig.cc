#include "foretell/mig.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/number_checks.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/answer_trace.h"
#include "cli/commands/command.h"
#include "cli/flags/run_flags.h"
#include "foretell/predictor.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"
#include "src/core/text.h"
#include "src/mig/mig_json.h"
#include "src/mig/parse_job.h"
#include "src/page/html_page.h"
#include "src/pictures/device_json.h"

namespace foretell::cli {
namespace {

constexpr char kPackExamples[] =
    "Examples:\n"
    "  foretell mig pack resnet50.onnx vit.onnx --batch 8\n"
    "  foretell mig pack --job detector=9GB --job ranker=3500 --format "
    "mig-parted\n"
    "  foretell mig pack *.onnx --batch 1 --max-devices 0 --format "
    "kubernetes";

void AddProfiles(CLI::App& mig, ExitCode& exit_code) {
  struct Options {
    DeviceFlags device;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      mig.add_subcommand("profiles", "MIG profiles of a device");
  options->device.AddTo(*command);
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->callback([options, &exit_code] {
    const DeviceSpec device = options->device.Find();
    std::cout << (options->json ? mig::FormatProfilesJson(device)
                                : mig::FormatProfilesTable(device));
    exit_code = kExitOk;
  });
}

struct LayoutsCommand {
  DeviceFlags device;
  mig::LayoutOptions layout;
  std::vector<std::string> with;
  bool without_double_memory = false;
  bool count = false;
  bool all = false;
  bool json = false;
};

void PrintLayouts(const LayoutsCommand& options, const DeviceSpec& device) {
  if (options.count) {
    const mig::LayoutCounts counts = mig::CountLayouts(device, options.layout);
    std::cout << (options.json ? mig::FormatCountsJson(device, counts)
                               : mig::FormatCountsTable(device, counts));
    return;
  }
  const std::vector<mig::Layout> layouts = mig::LayoutsWith(
      device,
      options.all ? mig::EnumerateLayouts(device, options.layout)
                  : mig::MaximalLayouts(device, options.layout),
      options.with);
  std::cout << fmt::format(
      "{} of {}{}; first slot:slots profile of every instance\n",
      Counted(layouts.size(), options.all ? "layout" : "maximal layout"),
      device.name, options.with.empty() ? "" : " with " + Joined(options.with));
  std::cout << mig::FormatLayouts(device, layouts);
}

void AddLayouts(CLI::App& mig, ExitCode& exit_code) {
  auto options = std::make_shared<LayoutsCommand>();
  CLI::App* command = mig.add_subcommand(
      "layouts", "List the ways to divide a device: the maximal ones, or all");
  options->device.AddTo(*command);
  command->add_flag("--count", options->count, "Print only their number");
  command->add_flag("--all", options->all, "Include layouts with free slots");
  AddList(*command, "--with", options->with,
          "Only layouts with these profiles: 3g.20gb,1g.5gb; name a profile "
          "twice to require two");
  command->add_flag("--without-double-memory", options->without_double_memory,
                    "Leave out the 1g profile with double memory");
  command->add_flag("--media-extensions", options->layout.media_extensions,
                    "Use +me profiles, too");
  command->add_flag("--json", options->json,
                    "JSON document on stdout; with --count");
  command->callback([options, &exit_code] {
    options->layout.double_memory = !options->without_double_memory;
    PrintLayouts(*options, options->device.Find());
    exit_code = kExitOk;
  });
}

struct PackCommand {
  ModelOptions model;
  PredictorFlags predictor;
  std::vector<std::string> jobs;
  mig::PackOptions pack;
  std::string format = "table";
  std::string html;
};

std::string Format(const mig::Packing& packing, const std::string& format) {
  if (format == "json") return mig::FormatJson(packing);
  if (format == "mig-parted") return mig::MigPartedConfig(packing);
  if (format == "kubernetes") return mig::KubernetesResources(packing);
  return mig::FormatTable(packing);
}

void WritePackPage(const std::string& path, const mig::Packing& packing,
                   const DeviceSpec& device) {
  WriteWhole(path, HtmlPage(PageView::kPacking, "foretell mig pack",
                            {{"packing", mig::PackingToJson(packing)},
                             {"device", pictures::DeviceToJson(device)}}));
}

ExitCode RunPack(const PackCommand& options) {
  if (options.model.models.empty() && options.jobs.empty()) {
    throw InvalidArgument("mig pack needs a model, or --job NAME=SIZE");
  }
  const Predictor predictor = options.predictor.Make(options.model.run);
  std::vector<mig::Job> jobs;
  for (const std::string& text : options.jobs) {
    jobs.push_back(mig::ParseJob(text));
  }
  const std::vector<ReportError> errors =
      ForEachStep(options.model, [&](Session& session) {
        const Prediction prediction = session.Predict(predictor);
        jobs.push_back(
            mig::ToJob(ToDemand(prediction, session.program().name())));
        PrintWarnings(session, prediction);
      });
  if (PrintErrors(errors) != kExitOk) return kExitModelFailed;
  const mig::Packing packing =
      mig::Pack(jobs, predictor.device(), options.pack);
  if (!options.html.empty()) {
    WritePackPage(options.html, packing, predictor.device());
  }
  std::cout << Format(packing, options.format);
  return packing.fits ? kExitOk : kExitDoesNotFit;
}

void AddPack(CLI::App& mig, ExitCode& exit_code) {
  auto options = std::make_shared<PackCommand>();
  CLI::App* command = mig.add_subcommand(
      "pack", "Pack several models into one layout, one instance each");
  command->footer(kPackExamples);
  options->model.AddTo(*command, /*many=*/true);
  command->get_option("MODEL")->required(false);
  options->predictor.AddTo(*command, options->model.run);
  command
      ->add_option("--job", options->jobs,
                   "Model given by name and memory instead of a file: a=9000 "
                   "(MiB), a=9GB")
      ->allow_extra_args(false);
  AddDefaulted(*command, "--max-devices", options->pack.max_devices,
               "Most devices to use; 0: no limit", FromZero());
  command->add_flag("--media-extensions", options->pack.media_extensions,
                    "Use +me profiles, too");
  AddDefaulted(*command, "--format", options->format,
               "table; json, also --json; mig-parted (YAML) or kubernetes",
               CLI::IsMember({"table", "json", "mig-parted", "kubernetes"}));
  command->add_option("--html", options->html,
                      "Page with a drawing of the layout");
  command->callback([options, &exit_code] { exit_code = RunPack(*options); });
}

}  // namespace

void AddMig(CLI::App& app, ExitCode& exit_code) {
  CLI::App* command =
      app.add_subcommand("mig", "MIG profiles, layouts and packing");
  command->require_subcommand(1);
  AddProfiles(*command, exit_code);
  AddLayouts(*command, exit_code);
  AddPack(*command, exit_code);
}

}  // namespace foretell::cli
