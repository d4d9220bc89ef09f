#include "cli/flags/sample_flags.h"

#include "cli/flags/defaulted_flag.h"
#include "cli/flags/named_flag.h"
#include "cli/flags/number_checks.h"

namespace foretell::cli {
namespace {

using learned::EdgeKind;
using learned::Target;
using training::PriorSource;
using training::SampleRequest;

void AddSelection(CLI::App& command, SampleRequest& request) {
  command.add_option("--dataset", request.dataset,
                     "Dataset with graphs and labels");
  AddDefaulted(command, "--split", request.split,
               "Split of the dataset, see `foretell dataset split`; or none");
  command
      .add_option("--device", request.devices,
                  "Devices of the labels, as named in the dataset; or all")
      ->delimiter(',');
  AddNamedList(
      command, "--provenance", request.provenances,
      {Provenance::kMeasured, Provenance::kImported, Provenance::kSimulated},
      &ProvenanceName,
      "measured, imported, simulated; default: the first two, if any");
  command.add_option("--source", request.sources, "Sources of the labels")
      ->delimiter(',');
}

void AddSurroundings(CLI::App& command, SampleRequest& request) {
  command.add_option("--device-file", request.device_files,
                     "Additional device files");
  command.add_option("--environment", request.recipe.context,
                     "CUDA context model of the prior; default: today's");
  AddNamed(command, "--host", request.recipe.host, {Host::kPython, Host::kCpp},
           &HostName, "Host runtime of the prior");
  AddDefaulted(command, "--cache-mib", request.cache_mib,
               "Memory for decoded graphs in MiB", FromZero());
  AddDefaulted(command, "--threads", request.threads,
               "Threads of this process; 0: one per core, or OMP_NUM_THREADS",
               FromZero());
}

void AddGoal(CLI::App& command, SampleRequest& request) {
  AddNamedList(command, "--targets", request.targets,
               {Target::kMemory, Target::kLatency, Target::kEnergy},
               &TargetName, "Figures to learn")
      ->default_str("memory latency energy");
  AddDefaulted(command, "--simulated-weight", request.simulated_weight,
               "Weight of simulated labels relative to measured ones",
               FromZero());
  AddDefaulted(command, "--source-balance", request.source_balance,
               "Weight of sources in the loss: 0 by their labels, 1 equal",
               CLI::Range(0.0, 1.0));
  AddNamed(
      command, "--prior", request.prior,
      {PriorSource::kNone, PriorSource::kAnalytic, PriorSource::kLabels},
      &training::PriorSourceName,
      "Prior that a graph network corrects, or that a term network is averaged "
      "with: none; analytic; or labels: the dataset's simulated ones");
}

void AddColumns(CLI::App& command, SampleRequest& request) {
  AddNamed(command, "--edges", request.recipe.edges,
           {EdgeKind::kDataFlow, EdgeKind::kChain, EdgeKind::kNone},
           &learned::EdgeKindName,
           "Edges of the graphs: data-flow; chain: from every node to the "
           "next, as in the paper's released code; or none");
  command.add_flag("--device-features", request.device_columns,
                   "Feed figures of the device to the network");
  command.add_flag("--prior-features", request.prior_columns,
                   "Feed the prior to the network");
  command.add_flag(
      "--node-costs", request.recipe.node_costs,
      "Feed the cost model's estimate of every operator to the network");
  command
      .add_option("--environment-features", request.setting_keys,
                  "Keys of the labels' environments to feed to the network")
      ->delimiter(',');
}

}  // namespace

void AddLabelFlags(CLI::App& command, SampleRequest& request) {
  AddSelection(command, request);
  AddSurroundings(command, request);
}

void AddInputFlags(CLI::App& command, SampleRequest& request) {
  AddGoal(command, request);
  AddColumns(command, request);
}

}  // namespace foretell::cli
