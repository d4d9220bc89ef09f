#include "src/device/read_device.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "foretell/error.h"
#include "src/core/document_kind.h"
#include "src/core/json_object.h"

namespace foretell::device {
namespace {

// Bounds that no GPU of the near future exceeds; they keep the arithmetic of
// later stages and the enumeration of layouts small whatever a file contains.
constexpr int kMaxSms = 10000;
constexpr std::int64_t kMaxMib = 1 << 24;  // 16 TiB.
constexpr double kMaxBandwidth = 1e6;      // GB/s.
constexpr double kMaxTflops = 1e6;
constexpr double kMaxLaunchUs = 1e3;
constexpr double kMaxPower = 1e5;  // W.
constexpr std::int64_t kHostShareMib = 8 * 1024;
constexpr int kMaxSlots = 12;
constexpr std::size_t kMaxProfiles = 32;
constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kTf32,
                                     Precision::kFp16, Precision::kBf16};

int SmallInt(JsonObject& object, const char* key, int at_least, int at_most) {
  return static_cast<int>(object.Int(key, at_least, at_most));
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

/// A name that is safe on a command line, in a file name and in YAML.
std::string DeviceName(JsonObject& object) {
  std::string name = object.String("name");
  for (const char c : name) {
    if (!IsNameCharacter(c)) {
      object.Fail("name", "is \"" + name +
                              "\", expected lower-case letters, digits, '-', "
                              "'.' and '_'");
    }
  }
  return name;
}

/// Rates by precision: of `all` of them, or of those that `rates` names.
std::map<Precision, double> ReadRates(JsonObject rates, bool all) {
  std::map<Precision, double> result;
  for (const Precision precision : kPrecisions) {
    const std::string name(PrecisionName(precision));
    if (all || rates.Has(name)) {
      result[precision] = rates.Number(name, 1e-3, kMaxTflops);
    }
  }
  rates.Finish();
  return result;
}

MigProfile ReadProfile(JsonObject& object) {
  MigProfile profile;
  profile.name = object.String("name");
  profile.usable_mib = object.Int("usable_mib", 1, kMaxMib);
  profile.sms = SmallInt(object, "sms", 1, kMaxSms);
  profile.compute_slices = SmallInt(object, "compute_slices", 1, kMaxSlots);
  profile.memory_slots = SmallInt(object, "memory_slots", 1, kMaxSlots);
  profile.bandwidth_fraction = object.Number("bandwidth_fraction", 1e-3, 1);
  profile.max_instances = SmallInt(object, "max_instances", 1, kMaxSlots);
  profile.media_extensions = object.Bool("media_extensions");
  profile.placements = object.Ints("placements", 0, kMaxSlots - 1);
  profile.source = object.String("source");
  object.Finish();
  return profile;
}

void ReadMig(JsonObject mig, DeviceSpec* device) {
  device->compute_slices = SmallInt(mig, "compute_slices", 1, kMaxSlots);
  device->memory_slots = SmallInt(mig, "memory_slots", 1, kMaxSlots);
  std::vector<JsonObject> profiles = mig.Objects("profiles");
  if (profiles.empty() || profiles.size() > kMaxProfiles) {
    mig.Fail("profiles", fmt::format("has {} entries, expected 1 to {}",
                                     profiles.size(), kMaxProfiles));
  }
  for (JsonObject& profile : profiles) {
    device->mig_profiles.push_back(ReadProfile(profile));
  }
  mig.Finish();
}

void ReadHardware(JsonObject& object, DeviceSpec* device) {
  device->architecture = object.String("architecture");
  device->compute_capability = SmallInt(object, "compute_capability", 10, 1000);
  device->sms = SmallInt(object, "sms", 1, kMaxSms);
  device->memory_mib = object.Int("memory_mib", 1, kMaxMib);
  device->usable_mib = object.Has("usable_mib")
                           ? object.Int("usable_mib", 1, device->memory_mib)
                           : device->memory_mib;
  device->unified_memory =
      object.Has("unified_memory") && object.Bool("unified_memory");
  if (device->unified_memory) {
    device->host_share_mib = std::min(kHostShareMib, device->usable_mib / 2);
    device->usable_mib -= device->host_share_mib;
  }
  device->bandwidth_gb_s = object.Number("bandwidth_gb_s", 1, kMaxBandwidth);
  if (object.Has("reached_bandwidth_gb_s")) {
    device->reached_bandwidth_gb_s =
        object.Number("reached_bandwidth_gb_s", 1, device->bandwidth_gb_s);
  }
  if (object.Has("link_gb_s")) {
    device->link_gb_s = object.Number("link_gb_s", 1e-3, kMaxBandwidth);
  }
  device->l2_mib = object.Number("l2_mib", 0, kMaxBandwidth);
  device->peak_tflops = ReadRates(object.Object("peak_tflops"), /*all=*/true);
  if (object.Has("fp4_tflops")) {
    device->fp4_tflops = object.Number("fp4_tflops", 1e-3, kMaxTflops);
  }
  if (object.Has("matmul_tflops")) {
    device->matmul_tflops =
        ReadRates(object.Object("matmul_tflops"), /*all=*/false);
  }
  if (object.Has("launch_us")) {
    device->launch_us = object.Number("launch_us", 0.1, kMaxLaunchUs);
  }
  device->max_power_w = object.Number("max_power_w", 1, kMaxPower);
  device->idle_power_w = object.Number("idle_power_w", 0, device->max_power_w);
  device->chip_power_w =
      object.Has("chip_power_w")
          ? object.Number("chip_power_w", device->max_power_w, kMaxPower)
          : device->max_power_w;
  device->cublas_workspace_bytes =
      object.Int("cublas_workspace_bytes", 0, std::int64_t{1} << 32);
}

}  // namespace

DeviceSpec ReadDevice(std::string_view json, std::string_view origin) {
  const nlohmann::json document = ParseJson(json, origin);
  RefuseOtherKind(document, std::string(origin), {DocumentKind::kDevice});
  JsonObject object(document, std::string(origin), "");
  DeviceSpec device;
  device.name = DeviceName(object);
  if (object.Has("aliases")) device.aliases = object.Strings("aliases");
  device.display_name = object.String("display_name");
  ReadHardware(object, &device);
  if (object.Has("mig")) ReadMig(object.Object("mig"), &device);
  device.sources = object.Strings("sources");
  if (device.sources.empty()) {
    object.Fail("sources", "is [], expected at least one source");
  }
  object.Finish();
  CheckConsistency(device, origin);
  return device;
}

}  // namespace foretell::device
