#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/command.h"
#include "cli/commands/doctor_checks.h"
#include "src/core/json_text.h"
#include "src/core/printable.h"

namespace foretell::cli {
namespace {

constexpr int kDoctorSchemaVersion = 1;
constexpr char kDoctorExamples[] =
    "Reports and tests the installation: LibTorch, the kernel's sandbox\n"
    "features, a GPU, data, measured hosts, and a prediction. Exit status 3: "
    "a\n"
    "part is broken.\n"
    "Example:\n"
    "  foretell doctor";

std::string FormatFindings(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<7} {:<13} {}\n", HealthName(finding.health),
                        finding.part, Printable(finding.text));
  }
  return text;
}

std::string FormatFindingsJson(const std::vector<Finding>& findings) {
  nlohmann::ordered_json document = {{"schema_version", kDoctorSchemaVersion}};
  nlohmann::ordered_json& parts = document["parts"];
  for (const Finding& finding : findings) {
    parts.push_back({{"part", finding.part},
                     {"health", HealthName(finding.health)},
                     {"text", finding.text}});
  }
  return DumpJson(document) + "\n";
}

}  // namespace

void AddDoctor(CLI::App& app, ExitCode& exit_code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("doctor", "Check the installation");
  command->footer(kDoctorExamples);
  command->add_flag("--json", *json, "JSON document on stdout");
  command->callback([json, &exit_code] {
    const std::vector<Finding> findings = Examine();
    std::cout << (*json ? FormatFindingsJson : FormatFindings)(findings);
    const bool broken = std::ranges::any_of(
        findings, [](const Finding& f) { return f.health == Health::kBroken; });
    exit_code = broken ? kExitModelFailed : kExitOk;
  });
}

}  // namespace foretell::cli
