// Consistency of a device's MIG table.
//
// Later stages rely on three facts that no single field can state: a profile
// fits the device at each of its placements; instances of one profile never
// add up to more memory than there is; and `max_instances` is exactly what the
// placements and the slices permit (one for a "+me" profile). The last one
// means that a layout whose slots do not overlap and whose slices add up is
// valid: instances need not be counted as well.
#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "src/core/failure.h"
#include "src/device/read_device.h"

namespace foretell::device {
namespace {

/// Where a finding is reported.
struct Place {
  std::string_view origin;
  std::size_t profile = 0;
  std::string name;

  template <typename Value, typename Expected>
  void Require(bool holds, const char* field, Value value, const char* relation,
               Expected expected) const {
    if (holds) return;
    throw Corrupt("{}: mig.profiles[{}] ('{}'): {} is {}, expected {} {}",
                  origin, profile, name, field, value, relation, expected);
  }
};

/// The compute slices that a name such as "3g.20gb+me" states; -1 when the
/// name is not of the form <slices>g.<size>gb, optionally with a suffix of
/// '+' or '-', letters and dots.
int SlicesOfName(const std::string& name) {
  std::size_t at = 0;
  const auto digits = [&name, &at] {
    const std::size_t start = at;
    while (at < name.size() && name[at] >= '0' && name[at] <= '9') ++at;
    return name.substr(start, at - start);
  };
  const std::string slices = digits();
  if (slices.empty() || slices.size() > 2) return -1;
  if (name.compare(at, 2, "g.") != 0) return -1;
  at += 2;
  if (digits().empty() || name.compare(at, 2, "gb") != 0) return -1;
  at += 2;
  if (at == name.size()) return std::stoi(slices);
  if (name[at] != '+' && name[at] != '-') return -1;
  const std::string suffix = name.substr(at + 1);
  const bool plain =
      !suffix.empty() && std::all_of(suffix.begin(), suffix.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || c == '.';
      });
  return plain ? std::stoi(slices) : -1;
}

void CheckName(const MigProfile& profile, const Place& place) {
  const int slices = SlicesOfName(profile.name);
  if (slices < 0) {
    throw Corrupt(
        "{}: mig.profiles[{}].name is \"{}\", expected a name such as "
        "\"1g.5gb\"",
        place.origin, place.profile, profile.name);
  }
  place.Require(profile.compute_slices == slices, "compute_slices",
                profile.compute_slices, "as in its name", slices);
  const bool says_media = profile.name.find("+me") != std::string::npos;
  place.Require(profile.media_extensions == says_media, "media_extensions",
                static_cast<int>(profile.media_extensions), "as in its name",
                static_cast<int>(says_media));
}

void CheckPlacements(const DeviceSpec& device, const MigProfile& profile,
                     const Place& place) {
  place.Require(!profile.placements.empty(), "number of placements",
                profile.placements.size(), "at least", 1);
  int previous = -1;
  for (const int start : profile.placements) {
    place.Require(start > previous, "placement", start, "more than", previous);
    place.Require(start + profile.memory_slots <= device.memory_slots,
                  "end of a placement", start + profile.memory_slots, "at most",
                  device.memory_slots);
    previous = start;
  }
  const int placeable =
      profile.media_extensions ? 1 : MaxPlaceable(device, profile);
  place.Require(profile.max_instances == placeable, "max_instances",
                profile.max_instances, "what the placements permit,",
                placeable);
}

}  // namespace

int MaxPlaceable(const DeviceSpec& device, const MigProfile& profile) {
  int count = 0;
  int next_free = 0;
  for (const int start : profile.placements) {
    if (start < next_free) continue;
    ++count;
    next_free = start + profile.memory_slots;
  }
  return std::min(count, device.compute_slices / profile.compute_slices);
}

void CheckConsistency(const DeviceSpec& device, std::string_view origin) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < device.mig_profiles.size(); ++i) {
    const MigProfile& profile = device.mig_profiles[i];
    const Place place{origin, i, profile.name};
    CheckName(profile, place);
    place.Require(names.insert(profile.name).second,
                  "number of profiles of this name", 2, "at most", 1);
    place.Require(profile.sms <= device.sms, "sms", profile.sms, "at most",
                  device.sms);
    place.Require(profile.compute_slices <= device.compute_slices,
                  "compute_slices", profile.compute_slices, "at most",
                  device.compute_slices);
    CheckPlacements(device, profile, place);
    place.Require(
        profile.usable_mib * profile.max_instances <= device.memory_mib,
        "memory of all instances", profile.usable_mib * profile.max_instances,
        "at most", device.memory_mib);
  }
}

}  // namespace foretell::device
