#include "training/samples/open_samples.h"

#include <ATen/Parallel.h>
#include <fmt/core.h>

#include "foretell/error.h"
#include "src/core/files.h"
#include "src/core/units.h"
#include "src/network/keep_memory.h"

namespace foretell::training {
namespace {

/// Without prior and catalogue.
SampleOptions SampleOptionsOf(const SampleRequest& request) {
  SampleOptions options{
      .targets = request.Targets(),
      .devices = request.devices,
      .provenances = request.provenances,
      .sources = request.sources,
      .simulated_weight = request.simulated_weight,
      .source_balance = request.source_balance,
      .split = request.split == kNoSplit ? "" : request.split,
      .recipe = request.recipe,
      .device_columns = request.device_columns,
      .prior_columns = request.prior_columns,
      .setting_keys = request.setting_keys,
      .prior_from_labels = request.prior == PriorSource::kLabels,
      .threads = at::get_num_threads()};
  if (request.devices == std::vector<std::string>{kAllDevices}) {
    options.devices.clear();
    options.all_devices = true;
  }
  return options;
}

}  // namespace

const DeviceSpec* OpenedSamples::OnlyDevice() const {
  if (set.devices.size() != 1) return nullptr;
  try {
    return &catalog.FindDevice(set.devices.front());
  } catch (const Error&) {
    return nullptr;
  }
}

OpenedSamples OpenSamples(const SampleRequest& request) {
  OpenedSamples opened{.catalog = DeviceCatalog::BuiltIn()};
  for (const std::string& path : request.device_files) {
    opened.catalog.AddDevice(ReadText(path), path);
  }
  learned::KeepFreedMemory();
  if (request.threads > 0) at::set_num_threads(request.threads);
  const std::string& name = request.recipe.context;
  const ContextModel& context = name.empty() ? opened.catalog.DefaultContext()
                                             : opened.catalog.FindContext(name);
  const Prior analytic = AnalyticPrior(context, request.prior_host);
  SampleOptions options = SampleOptionsOf(request);
  options.recipe.context = context.name;
  if (request.prior == PriorSource::kAnalytic) options.prior = &analytic;
  options.catalog = &opened.catalog;
  opened.set = SelectSamples(Dataset::Open(request.dataset), options);
  opened.store = std::make_unique<FeatureStore>(
      request.dataset, request.cache_mib * kMiB, opened.set.recipe, context);
  return opened;
}

std::string SelectionText(const std::string& split, const std::string& part) {
  if (split == kNoSplit) return "all samples";
  return fmt::format("split {}, part {}", split, part);
}

}  // namespace foretell::training
