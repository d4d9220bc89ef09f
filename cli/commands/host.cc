#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands/command.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/print/print_host.h"
#include "src/core/clock.h"
#include "src/core/processor.h"
#include "src/host/dispatch_probes.h"
#include "src/host/host_store.h"
#include "src/host/time_probes.h"

namespace foretell::cli {
namespace {

constexpr char kHostExamples[] =
    "Calls operators of LibTorch on tiny tensors of the CPU and on meta, and\n"
    "compares their CPU time with that on a reference host. The factor is "
    "this\n"
    "machine's time to dispatch an operator divided by that of the typical\n"
    "host of published measurements; --host NAME predicts with it:\n"
    "docs/hosts.md.\n"
    "Examples:\n"
    "  foretell host\n"
    "  foretell host --name mine\n"
    "  foretell predict model.onnx --batch 1 --host mine";

struct HostOptions {
  std::optional<std::string> name;
  host::ProbeOptions probes;
  bool json = false;
};

host::MeasuredHost MeasureHost(const HostOptions& options) {
  const host::MeasuredHost& reference = host::ReferenceHost();
  host::MeasuredHost host{
      .cpu = ProcessorName(),
      .libtorch = host::LibTorchVersion(),
      .measured_at = NowUtc(),
      .source = "foretell host, relative to data/hosts/reference.json",
      .probes = host::TimeProbes(host::DispatchProbes(), &host::ThreadTimeUs,
                                 options.probes)};
  host.spec = host::CompareHosts(host.probes, reference);
  host.spec.name = options.name.value_or("");
  return host;
}

ExitCode RunHost(const HostOptions& options) {
  if (options.name) host::CheckHostName(*options.name);
  const host::MeasuredHost host = MeasureHost(options);
  const std::string path =
      options.name ? host::HostStore::OfUser().Put(host) : "";
  const auto format = options.json ? &FormatHostJson : &FormatHost;
  std::cout << format(host, host::ReferenceHost(), path);
  return kExitOk;
}

}  // namespace

void AddHost(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<HostOptions>();
  CLI::App* command = app.add_subcommand(
      "host", "Measure how fast this machine dispatches operators, for --host");
  command->footer(kHostExamples);
  command->add_option(
      "--name", options->name,
      "Name to store the host under; replaces an existing host of that name");
  AddDefaulted(*command, "--batches", options->probes.batches,
               "Timed batches per operator; the fastest counts",
               CLI::Range(1, 100000));
  AddDefaulted(*command, "--calls", options->probes.calls, "Calls per batch",
               CLI::Range(1, 100000));
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->callback([options, &exit_code] { exit_code = RunHost(*options); });
}

}  // namespace foretell::cli
