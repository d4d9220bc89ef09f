#include <nlohmann/json.hpp>

#include "src/core/json_text.h"
#include "src/device/describe_gpu.h"

namespace foretell::device {
namespace {

using Json = nlohmann::ordered_json;

Json RatesToJson(const std::map<Precision, double>& rates) {
  Json json;
  for (const auto& [precision, rate] : rates) {
    json[std::string(PrecisionName(precision))] = rate;
  }
  return json;
}

Json ProfileToJson(const MigProfile& profile) {
  return {{"name", profile.name},
          {"usable_mib", profile.usable_mib},
          {"sms", profile.sms},
          {"compute_slices", profile.compute_slices},
          {"memory_slots", profile.memory_slots},
          {"bandwidth_fraction", profile.bandwidth_fraction},
          {"max_instances", profile.max_instances},
          {"media_extensions", profile.media_extensions},
          {"placements", profile.placements},
          {"source", profile.source}};
}

Json MigToJson(const DeviceSpec& device) {
  Json profiles = Json::array();
  for (const MigProfile& profile : device.mig_profiles) {
    profiles.push_back(ProfileToJson(profile));
  }
  return {{"compute_slices", device.compute_slices},
          {"memory_slots", device.memory_slots},
          {"profiles", std::move(profiles)}};
}

}  // namespace

std::string DeviceToJson(const DeviceSpec& device) {
  Json json = {{"name", device.name},
               {"aliases", device.aliases},
               {"display_name", device.display_name},
               {"architecture", device.architecture},
               {"compute_capability", device.compute_capability},
               {"sms", device.sms},
               {"memory_mib", device.memory_mib},
               {"usable_mib", device.usable_mib + device.host_share_mib},
               {"bandwidth_gb_s", device.bandwidth_gb_s}};
  if (device.unified_memory) json["unified_memory"] = true;
  if (device.reached_bandwidth_gb_s > 0) {
    json["reached_bandwidth_gb_s"] = device.reached_bandwidth_gb_s;
  }
  if (device.link_gb_s > 0) json["link_gb_s"] = device.link_gb_s;
  json["l2_mib"] = device.l2_mib;
  json["peak_tflops"] = RatesToJson(device.peak_tflops);
  if (device.fp4_tflops > 0) json["fp4_tflops"] = device.fp4_tflops;
  if (!device.matmul_tflops.empty()) {
    json["matmul_tflops"] = RatesToJson(device.matmul_tflops);
  }
  if (device.launch_us > 0) json["launch_us"] = device.launch_us;
  json["max_power_w"] = device.max_power_w;
  json["idle_power_w"] = device.idle_power_w;
  if (device.chip_power_w > device.max_power_w) {
    json["chip_power_w"] = device.chip_power_w;
  }
  json["cublas_workspace_bytes"] = device.cublas_workspace_bytes;
  if (!device.mig_profiles.empty()) json["mig"] = MigToJson(device);
  json["sources"] = device.sources;
  return DumpJson(std::move(json)) + "\n";
}

}  // namespace foretell::device
