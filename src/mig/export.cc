// Files for the tools that make and hand out MIG instances.
//
// mig-parted (github.com/NVIDIA/mig-parted, configuration version v1) reads
// the number of instances per profile and device and tries the orders of
// creation itself. The Kubernetes device plugin with the strategy "mixed"
// offers every profile as a resource of its own.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "foretell/mig.h"
#include "src/core/failure.h"
#include "src/core/printable.h"

namespace foretell::mig {
namespace {

bool IsConfigName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

/// The entry of one device; `instances` are all of the packing.
std::string DeviceEntry(int device,
                        const std::vector<PackedInstance>& instances) {
  std::string comments;
  std::map<std::string, int> counts;
  for (const PackedInstance& instance : instances) {
    if (instance.device != device) continue;
    ++counts[instance.profile];
    comments += fmt::format("    # {}:{} {} for {}\n", instance.start,
                            instance.memory_slots, instance.profile,
                            Printable(instance.model));
  }
  std::string entry = fmt::format(
      "{}    - devices: [{}]\n      mig-enabled: true\n      mig-devices:\n",
      comments, device);
  for (const auto& [profile, count] : counts) {
    entry += fmt::format("        \"{}\": {}\n", profile, count);
  }
  return entry;
}

/// Of a DNS label.
constexpr std::size_t kMaxLabel = 63;

/// `label`, with "-2", "-3", … if it was used before.
std::string NotTaken(const std::string& label, std::set<std::string>* taken) {
  std::string name = label;
  for (int i = 2; !taken->insert(name).second; ++i) {
    const std::string suffix = fmt::format("-{}", i);
    name = label.substr(0, kMaxLabel - suffix.size()) + suffix;
  }
  return name;
}

}  // namespace

std::string MigPartedConfig(const Packing& packing, std::string_view name) {
  if (!IsConfigName(name)) {
    throw InvalidArgument(
        "mig-parted: the configuration's name is '{}', expected letters, "
        "digits, '-', '_' and '.'",
        name);
  }
  std::string text = fmt::format("version: v1\nmig-configs:\n  {}:\n", name);
  if (packing.num_devices == 0) {
    return text + "    - devices: all\n      mig-enabled: false\n";
  }
  for (int device = 0; device < packing.num_devices; ++device) {
    text += DeviceEntry(device, packing.instances);
  }
  return text;
}

std::string KubernetesResourceName(std::string_view profile) {
  std::string name = "nvidia.com/mig-" + std::string(profile);
  std::replace(name.begin(), name.end(), '+', '.');
  return name;
}

std::string DnsLabel(std::string_view model) {
  std::string label;
  for (const char c : model.substr(model.rfind('/') + 1)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      label += c;
    } else if (c >= 'A' && c <= 'Z') {
      label += static_cast<char>(c - 'A' + 'a');
    } else if (!label.empty() && label.back() != '-') {
      label += '-';
    }
  }
  label.resize(std::min(label.size(), kMaxLabel));
  while (label.ends_with('-')) label.pop_back();
  return label.empty() ? "model" : label;
}

std::string KubernetesResources(const Packing& packing) {
  std::string text;
  std::set<std::string> taken;
  for (const PackedInstance& instance : packing.instances) {
    text += fmt::format(
        "# {}\n- name: {}\n  resources:\n    limits:\n      {}: 1\n",
        Printable(instance.model), NotTaken(DnsLabel(instance.model), &taken),
        KubernetesResourceName(instance.profile));
  }
  return text.empty() ? "[]\n" : text;
}

}  // namespace foretell::mig
