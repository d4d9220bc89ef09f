#include "src/device/describe_gpu.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <vector>

#include "src/core/failure.h"
#include "src/core/text.h"

namespace foretell::device {
namespace {

/// Cards of one name differ in memory by more than drivers do.
constexpr double kSameMemory = 0.05;

bool IsGeForce(std::string_view name) {
  return name.find("GeForce") != std::string_view::npos;
}

bool IsKin(const DeviceSpec& device, const SmiGpu& gpu) {
  return gpu.compute_capability > 0
             ? device.compute_capability == gpu.compute_capability
             : device.architecture == gpu.architecture;
}

/// How unlike a card of the same architecture is: by its brand, whether it has
/// MIG, and power.
double Distance(const DeviceSpec& device, const SmiGpu& gpu) {
  constexpr double kOther = 100;
  double distance =
      std::abs(std::log(device.max_power_w / std::max(gpu.power_w, 1.0)));
  if (IsGeForce(device.display_name) != IsGeForce(gpu.name)) distance += kOther;
  if (device.mig_profiles.empty() == gpu.has_mig) distance += kOther;
  return distance;
}

/// The card of `gpu`'s compute capability, or architecture, that is nearest;
/// null if there is none.
const DeviceSpec* NearestKin(const SmiGpu& gpu, const DeviceCatalog& catalog) {
  const DeviceSpec* nearest = nullptr;
  for (const DeviceSpec& device : catalog.devices()) {
    if (!IsKin(device, gpu)) continue;
    if (nearest == nullptr || Distance(device, gpu) < Distance(*nearest, gpu)) {
      nearest = &device;
    }
  }
  return nearest;
}

bool HasMemoryOf(const DeviceSpec& device, std::int64_t memory_mib) {
  const auto memory = static_cast<double>(device.memory_mib);
  return memory_mib == 0 ||
         std::abs(static_cast<double>(memory_mib) / memory - 1) < kSameMemory;
}

/// What the driver does not reserve, or the share that it leaves of `kin`'s.
std::int64_t UsableOf(const SmiGpu& gpu, const DeviceSpec& kin) {
  if (gpu.reserved_mib > 0) return gpu.memory_mib - gpu.reserved_mib;
  const auto usable = static_cast<double>(kin.usable_mib + kin.host_share_mib);
  return static_cast<std::int64_t>(static_cast<double>(gpu.memory_mib) *
                                   usable /
                                   static_cast<double>(kin.memory_mib));
}

/// "rtx-a4000" of "NVIDIA RTX A4000".
std::string FileName(const std::string& display_name) {
  std::string name;
  for (const char letter : display_name) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0) {
      name += static_cast<char>(std::tolower(byte));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  for (const std::string_view vendor : {"nvidia-", "geforce-"}) {
    if (name.starts_with(vendor)) name.erase(0, vendor.size());
  }
  return name;
}

/// The figures of `kin`, another card, for one with `sms` multiprocessors.
DeviceSpec ScaledFrom(const DeviceSpec& kin, int sms) {
  const double share = static_cast<double>(sms) / kin.sms;
  DeviceSpec device{.architecture = kin.architecture,
                    .compute_capability = kin.compute_capability,
                    .sms = sms,
                    .unified_memory = kin.unified_memory,
                    .link_gb_s = kin.link_gb_s,
                    .l2_mib = kin.l2_mib * share,
                    .peak_tflops = kin.peak_tflops,
                    .fp4_tflops = kin.fp4_tflops * share,
                    .idle_power_w = kin.idle_power_w / kin.max_power_w,
                    .cublas_workspace_bytes = kin.cublas_workspace_bytes};
  for (auto& [precision, rate] : device.peak_tflops) rate *= share;
  device.sources.push_back(fmt::format(
      "peak rates and L2 cache: of {} in proportion to the multiprocessors; "
      "its link, and its share of the limit when idle",
      kin.name));
  return device;
}

/// Lists what neither nvidia-smi nor a flag states.
void RequireFacts(const SmiGpu& gpu, const GpuFacts& facts,
                  const DeviceSpec* kin, bool is_known) {
  std::vector<std::string> missing;
  if (!is_known && !facts.sms) missing.push_back("--sms");
  if (!is_known && !facts.bandwidth_gb_s) missing.push_back("--bandwidth");
  if (gpu.memory_mib == 0 && !is_known) missing.push_back("--memory");
  if (gpu.power_w == 0 && !is_known) missing.push_back("--power");
  if (kin == nullptr) {
    const bool is_stated =
        gpu.compute_capability > 0 || !gpu.architecture.empty();
    throw InvalidArgument(
        "'{}': {}", gpu.name,
        is_stated ? "no device of its architecture is known; "
                    "docs/adding_a_device.md explains its file"
                  : "its compute capability is not stated; add compute_cap to "
                    "--query-gpu, or use nvidia-smi -q");
  }
  if (missing.empty()) return;
  throw InvalidArgument(
      "'{}': nvidia-smi does not state all that is needed; also give {} from "
      "its data sheet",
      gpu.name, Joined(missing));
}

}  // namespace

DeviceSpec DescribeGpu(const SmiGpu& stated, const GpuFacts& facts,
                       const DeviceCatalog& catalog) {
  SmiGpu gpu = stated;
  gpu.memory_mib = facts.memory_mib.value_or(gpu.memory_mib);
  gpu.power_w = facts.power_w.value_or(gpu.power_w);
  const DeviceSpec* named = catalog.DeviceNamed(gpu.name);
  const bool is_known = named != nullptr && HasMemoryOf(*named, gpu.memory_mib);
  const DeviceSpec* kin = named != nullptr ? named : NearestKin(gpu, catalog);
  RequireFacts(gpu, facts, kin, is_known);
  DeviceSpec device = is_known ? *named : ScaledFrom(*kin, *facts.sms);
  if (!is_known) {
    device.name = named != nullptr ? named->name : FileName(gpu.name);
    device.display_name = gpu.name;
    device.idle_power_w *= gpu.power_w;
  } else if (facts.sms) {
    device.sms = *facts.sms;
  }
  device.bandwidth_gb_s = facts.bandwidth_gb_s.value_or(device.bandwidth_gb_s);
  if (gpu.memory_mib > 0) {
    device.memory_mib = gpu.memory_mib;
    device.usable_mib = UsableOf(gpu, *kin);
    device.host_share_mib = 0;
  }
  if (gpu.power_w > 0) {
    device.max_power_w = gpu.power_w;
    device.chip_power_w = std::max(device.chip_power_w, gpu.power_w);
    device.idle_power_w = std::min(device.idle_power_w, gpu.power_w);
  }
  device.sources.push_back("name, memory and power limit: nvidia-smi");
  if (gpu.has_mig && device.mig_profiles.empty()) {
    device.sources.push_back(
        "MIG: left out; docs/adding_a_device.md explains "
        "how to add its profiles");
  }
  return device;
}

}  // namespace foretell::device
