#include "cli/flags/sample_flags.h"

#include <ATen/Parallel.h>

#include <nlohmann/json.hpp>

#include <utility>

#include "cli/flags/named_flag.h"
#include "cli/flags/read_text.h"
#include "foretell/error.h"
#include "foretell/predictor.h"
#include "src/network/keep_memory.h"

namespace foretell::cli {
namespace {

using Json = nlohmann::json;
using training::Prior;

constexpr char kAllDevices[] = "all";
constexpr char kNoSplit[] = "none";
constexpr std::int64_t kMiBytes = 1 << 20;

std::vector<Provenance> ParseProvenances(
    const std::vector<std::string>& names) {
  std::vector<Provenance> provenances;
  for (const std::string& name : names) {
    const std::optional<Provenance> provenance = ParseProvenance(name);
    if (!provenance) {
      throw Error(ErrorCode::kInvalidArgument, "provenance '" + name + "'");
    }
    provenances.push_back(*provenance);
  }
  return provenances;
}

/// What `parse` makes of a name.
template <typename Parse>
auto Named(const Json& object, const char* key, Parse parse,
           const std::string& origin) {
  const std::string name = object.at(key);
  const auto value = parse(name);
  if (value) return *value;
  throw Error(ErrorCode::kCorrupt, origin + ": " + key + " is '" + name + "'");
}

/// Without prior and catalogue.
training::SampleOptions OptionsOf(const SampleFlags& flags) {
  training::SampleOptions options{
      .targets = flags.Targets(),
      .devices = flags.devices,
      .provenances = ParseProvenances(flags.provenances),
      .sources = flags.sources,
      .simulated_weight = flags.simulated_weight,
      .split = flags.split == kNoSplit ? "" : flags.split,
      .recipe = flags.recipe,
      .device_columns = flags.device_columns,
      .prior_columns = flags.prior_columns,
      .setting_keys = flags.setting_keys,
      .prior_from_labels = flags.prior == "labels",
      .threads = at::get_num_threads()};
  if (flags.devices == std::vector<std::string>{kAllDevices}) {
    options.devices.clear();
    options.all_devices = true;
  }
  return options;
}

}  // namespace

void SampleFlags::AddTo(CLI::App& command, bool learning) {
  command.add_option("--dataset", dataset, "Dataset with graphs and labels")
      ->required(!learning);
  command
      .add_option("--split", split,
                  "Split of the dataset, see `foretell dataset split`; or "
                  "none")
      ->capture_default_str();
  command
      .add_option("--device", devices,
                  "Devices of the labels, as the dataset names them; all")
      ->delimiter(',');
  command
      .add_option("--provenance", provenances,
                  "measured, imported, simulated; default: the first two "
                  "where there are any")
      ->delimiter(',')
      ->check(CLI::IsMember({"measured", "imported", "simulated"}));
  command.add_option("--source", sources, "Sources of the labels")
      ->delimiter(',');
  command.add_option("--device-file", device_files,
                     "Device files beside the built-in ones");
  command.add_option("--environment", recipe.context,
                     "CUDA context model of the prior; default: today's");
  AddNamed(command, "--host", recipe.host, {Host::kPython, Host::kCpp},
           &HostName, "Who calls the operators of the prior");
  command.add_option("--cache-mib", cache_mib, "Memory for decoded graphs")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option(
          "--threads", threads,
          "Threads of this process; 0: one per core, or OMP_NUM_THREADS")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  if (!learning) return;
  command.add_option("--targets", targets, "Figures to learn")
      ->delimiter(',')
      ->check(CLI::IsMember({"memory", "latency", "energy"}))
      ->capture_default_str();
  command
      .add_option("--simulated-weight", simulated_weight,
                  "Weight of simulated labels beside measured ones")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--prior", prior,
                  "What the network corrects: none; analytic; or labels, "
                  "the simulated ones in the dataset")
      ->check(CLI::IsMember({"none", "analytic", "labels"}))
      ->capture_default_str();
  AddNamed(command, "--edges", recipe.edges,
           {learned::EdgeKind::kDataFlow, learned::EdgeKind::kChain},
           &learned::EdgeKindName,
           "Edges of the graphs: data-flow; or chain, from every operator to "
           "the next, as the paper's released code");
  command.add_flag("--device-features", device_columns,
                   "Let the network see figures of the device");
  command.add_flag("--prior-features", prior_columns,
                   "Let the network see what the prior says");
  command.add_flag("--node-costs", recipe.node_costs,
                   "Let the network see what the cost model says of every "
                   "operator");
  command
      .add_option("--environment-features", setting_keys,
                  "Keys of the labels' environments that the network sees")
      ->delimiter(',');
}

std::vector<learned::Target> SampleFlags::Targets() const {
  std::vector<learned::Target> parsed;
  for (const learned::Target target : learned::kAllTargets) {
    for (const std::string& name : targets) {
      if (learned::ParseTarget(name) != target) continue;
      parsed.push_back(target);
      break;
    }
  }
  return parsed;
}

void SampleFlags::Follow(const learned::CheckpointInfo& info) {
  targets.clear();
  for (const learned::CheckpointTarget& target : info.targets) {
    targets.emplace_back(TargetName(target.scale.target));
  }
  const std::string& known = info.recipe.prior;
  if (known.empty()) prior = "none";
  if (!known.empty() && prior != "labels") prior = known;
  recipe = info.recipe;
}

std::string SampleFlags::ToJson() const {
  return Json{{"dataset", dataset},
              {"split", split},
              {"devices", devices},
              {"targets", targets},
              {"provenances", provenances},
              {"sources", sources},
              {"simulated_weight", simulated_weight},
              {"prior", prior},
              {"device_columns", device_columns},
              {"prior_columns", prior_columns},
              {"node_costs", recipe.node_costs},
              {"terms", recipe.terms ? TermSetName(*recipe.terms) : ""},
              {"environment_keys", setting_keys},
              {"edges", EdgeKindName(recipe.edges)},
              {"device_files", device_files},
              {"environment", recipe.context},
              {"host", HostName(recipe.host)}}
      .dump();
}

void SampleFlags::FromJson(const std::string& json, const std::string& origin) {
  try {
    const Json object = Json::parse(json);
    // A dataset that was moved is named anew.
    if (dataset.empty()) dataset = object.at("dataset");
    split = object.at("split");
    devices = object.at("devices").get<std::vector<std::string>>();
    targets = object.at("targets").get<std::vector<std::string>>();
    provenances = object.at("provenances").get<std::vector<std::string>>();
    sources = object.at("sources").get<std::vector<std::string>>();
    simulated_weight = object.at("simulated_weight");
    prior = object.at("prior");
    device_columns = object.at("device_columns");
    prior_columns = object.at("prior_columns");
    recipe.node_costs = object.at("node_costs");
    recipe.terms = learned::ParseTermSet(object.value("terms", ""));
    setting_keys =
        object.at("environment_keys").get<std::vector<std::string>>();
    if (object.contains("edges")) {
      recipe.edges = Named(object, "edges", &learned::ParseEdgeKind, origin);
    }
    device_files = object.at("device_files").get<std::vector<std::string>>();
    recipe.context = object.at("environment");
    recipe.host = Named(object, "host", &ParseHost, origin);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kCorrupt, origin + ": " + error.what());
  }
}

OpenedSamples OpenSamples(const SampleFlags& flags) {
  OpenedSamples opened{.catalog = DeviceCatalog::BuiltIn()};
  for (const std::string& path : flags.device_files) {
    opened.catalog.AddDevice(ReadText(path), path);
  }
  learned::KeepFreedMemory();
  if (flags.threads > 0) at::set_num_threads(flags.threads);
  const std::string& name = flags.recipe.context;
  const ContextModel& context = name.empty() ? opened.catalog.DefaultContext()
                                             : opened.catalog.FindContext(name);
  const Prior analytic = training::AnalyticPrior(context);
  training::SampleOptions options = OptionsOf(flags);
  options.recipe.context = context.name;
  if (flags.prior == "analytic") options.prior = &analytic;
  options.catalog = &opened.catalog;
  opened.set = SelectSamples(Dataset::Open(flags.dataset), options);
  opened.store = std::make_unique<training::FeatureStore>(
      flags.dataset, flags.cache_mib * kMiBytes, opened.set.recipe, context);
  return opened;
}

const DeviceSpec* KnownDevice(const OpenedSamples& opened) {
  if (opened.set.devices.size() != 1) return nullptr;
  try {
    return &opened.catalog.FindDevice(opened.set.devices.front());
  } catch (const Error&) {
    return nullptr;
  }
}

std::string SelectionText(const std::string& split, const std::string& part) {
  if (split == kNoSplit) return "all samples";
  return "split " + split + ", part " + part;
}

}  // namespace foretell::cli
