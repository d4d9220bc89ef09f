#include "datasets/collect/simulate_point.h"

#include <fmt/core.h>

#include "foretell/mig.h"
#include "src/core/numbers.h"
#include "src/core/units.h"
#include "src/graph/setting.h"

namespace foretell::dataset {
namespace {

constexpr char kAnalyticSource[] = "foretell analytic";
constexpr char kLearnedSource[] = "foretell predict";

bool MayBeLearned(const Run& run, Method method, bool own_checkpoints) {
  if (own_checkpoints) return true;
  if (method == Method::kAuto) return run.autocast;
  return method != Method::kAnalytic;
}

}  // namespace

std::string SimulationSource(const Run& run, Method method,
                             bool own_checkpoints) {
  return fmt::format("{}{}",
                     MayBeLearned(run, method, own_checkpoints)
                         ? kLearnedSource
                         : kAnalyticSource,
                     run.grad_mode ? " --grad" : "");
}

std::string SimulationSetting(const Run& run, const HostSpec& host,
                              const std::string& context) {
  const bool is_plain = !run.autocast && !run.grad_mode && !run.channels_last;
  Setting setting = is_plain ? Setting() : Setting(run);
  setting.Set("environment", context);
  setting.Set("host", std::string(HostName(run.host)));
  if (host.IsNamed()) setting.Set("host_name", host.name);
  if (host.factor != 1) setting.Set("host_factor", FormatExact(host.factor));
  return setting.ToJson();
}

Label LabelOf(const Prediction& prediction, const DeviceSpec& device,
              const std::string& setting) {
  Label label{.setting = setting};
  label.memory_mib = prediction[Target::kMemory].value;
  label.allocated_mib = ToMiB(prediction.memory.allocated_peak);
  label.reserved_mib = ToMiB(prediction.memory.reserved_peak);
  const auto usable = static_cast<double>(device.usable_mib);
  if (!mig::FitsMemory(*label.memory_mib, usable)) {
    label.status = LabelStatus::kOutOfMemory;
    label.reason =
        fmt::format("needs {:.6f} MiB of {:.6f}", *label.memory_mib, usable);
    return label;
  }
  label.latency_ms = prediction[Target::kLatency].value;
  label.energy_j = prediction[Target::kEnergy].value;
  return label;
}

}  // namespace foretell::dataset
