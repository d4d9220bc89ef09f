#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "foretell/mig.h"
#include "src/core/json_text.h"
#include "src/core/name_table.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"
#include "src/mig/mig_json.h"

namespace foretell::mig {
namespace {

using Json = nlohmann::ordered_json;

/// Of Fit, in a table's cell.
constexpr NameTable<3> kFitWords = {"yes", "tight", "no"};

std::string Dump(const Json& json) { return DumpJson(json) + "\n"; }

std::string Signed(double value) {
  return (value < 0 ? "" : "+") + FormatNumber(value, 1);
}

void AddVerdictRow(const std::string& name, const Verdict& verdict, bool chosen,
                   TextTable* table) {
  table->AddRow(
      {name + (chosen ? " *" : ""), fmt::format("{}", verdict.usable_mib),
       fmt::format("{}", verdict.sms),
       std::string(NameIn(kFitWords, verdict.fit)), Signed(verdict.margin_mib),
       FormatNumber(verdict.latency_ms, 3), FormatNumber(verdict.energy_j, 3)});
}

Json ProfileToJson(const MigProfile& profile) {
  Json json;
  json["profile"] = profile.name;
  json["usable_mib"] = profile.usable_mib;
  json["sms"] = profile.sms;
  json["compute_slices"] = profile.compute_slices;
  json["memory_slots"] = profile.memory_slots;
  json["bandwidth_fraction"] = profile.bandwidth_fraction;
  json["max_instances"] = profile.max_instances;
  json["media_extensions"] = profile.media_extensions;
  json["placements"] = profile.placements;
  json["source"] = profile.source;
  return json;
}

}  // namespace

std::string FormatTable(const Recommendation& recommendation) {
  TextTable table({"profile", "usable MiB", "SMs", "fits", "margin MiB",
                   "latency ms", "energy J"});
  for (const Verdict& verdict : recommendation.profiles) {
    AddVerdictRow(verdict.profile, verdict,
                  recommendation.profile == verdict.profile, &table);
  }
  AddVerdictRow("without MIG", recommendation.whole_device, false, &table);
  const std::string profile = recommendation.profile.value_or("none");
  return fmt::format("{}MIG profile ({}): {}, {}\n", table.ToString(),
                     RuleName(recommendation.rule), profile,
                     recommendation.reason);
}

std::string FormatProfilesTable(const DeviceSpec& device) {
  if (device.mig_profiles.empty()) return device.name + " has no MIG\n";
  TextTable table({"profile", "usable MiB", "SMs", "compute slices",
                   "memory slots", "bandwidth GB/s", "most", "starts at"});
  for (const MigProfile& profile : device.mig_profiles) {
    table.AddRow(
        {profile.name, fmt::format("{}", profile.usable_mib),
         fmt::format("{}", profile.sms),
         fmt::format("{}", profile.compute_slices),
         fmt::format("{}", profile.memory_slots),
         FormatNumber(profile.bandwidth_fraction * device.bandwidth_gb_s, 0),
         fmt::format("{}", profile.max_instances),
         fmt::format("{}", fmt::join(profile.placements, ","))});
  }
  return table.ToString();
}

Json ProfilesToJson(const DeviceSpec& device) {
  Json json;
  json["device"] = device.name;
  json["compute_slices"] = device.compute_slices;
  json["memory_slots"] = device.memory_slots;
  json["profiles"] = Json::array();
  for (const MigProfile& profile : device.mig_profiles) {
    json["profiles"].push_back(ProfileToJson(profile));
  }
  return json;
}

std::string FormatProfilesJson(const DeviceSpec& device) {
  return Dump(ProfilesToJson(device));
}

std::string FormatCountsTable(const DeviceSpec& device,
                              const LayoutCounts& counts) {
  TextTable table({device.name, "placed", "multisets"});
  table.AddRow({"layouts", fmt::format("{}", counts.layouts),
                fmt::format("{}", counts.multisets)});
  table.AddRow({"maximal layouts", fmt::format("{}", counts.maximal_layouts),
                fmt::format("{}", counts.maximal_multisets)});
  return table.ToString();
}

std::string FormatCountsJson(const DeviceSpec& device,
                             const LayoutCounts& counts) {
  Json json;
  json["device"] = device.name;
  json["layouts"] = counts.layouts;
  json["multisets"] = counts.multisets;
  json["maximal_layouts"] = counts.maximal_layouts;
  json["maximal_multisets"] = counts.maximal_multisets;
  return Dump(json);
}

std::string FormatLayouts(const DeviceSpec& device,
                          std::span<const Layout> layouts) {
  std::string text;
  for (const Layout& layout : layouts) {
    std::string line;
    for (const PlacedInstance& instance : layout) {
      const MigProfile& profile =
          device.mig_profiles.at(static_cast<std::size_t>(instance.profile));
      if (!line.empty()) line += ", ";
      line += fmt::format("{}:{} {}", instance.start, profile.memory_slots,
                          profile.name);
    }
    text += line + "\n";
  }
  return text;
}

std::string FormatTable(const Packing& packing) {
  TextTable table({"model", "device", "profile", "slots", "MiB at most",
                   "margin MiB", "latency ms", "energy J"});
  for (const PackedInstance& instance : packing.instances) {
    const std::optional<SliceDemand>& demand = instance.demand;
    table.AddRow({instance.model, fmt::format("{}", instance.device),
                  instance.profile,
                  fmt::format("{}:{}", instance.start, instance.memory_slots),
                  FormatNumber(instance.needed_mib, 0),
                  FormatNumber(instance.margin_mib, 0),
                  demand ? FormatNumber(demand->latency_ms, 3) : "-",
                  demand ? FormatNumber(demand->energy_j, 3) : "-"});
  }
  std::string text =
      fmt::format("{}{} of {}, {} and {} used\n", table.ToString(),
                  Counted(packing.num_devices, "device"), packing.device,
                  Counted(packing.compute_slices, "compute slice"),
                  Counted(packing.memory_slots, "memory slot"));
  if (packing.num_devices > 1 || !packing.fits) {
    text += fmt::format("lower bound on the number of devices: {}\n",
                        packing.at_least_devices);
  }
  if (packing.fits) return text;
  for (const std::string& model : packing.unplaced) {
    text += "no place for " + Printable(model) + "\n";
  }
  return fmt::format("{}does not fit: {}\n", text, Printable(packing.reason));
}

Json PackingToJson(const Packing& packing) {
  Json json;
  json["device"] = packing.device;
  json["fits"] = packing.fits;
  json["num_devices"] = packing.num_devices;
  json["at_least_devices"] = packing.at_least_devices;
  json["compute_slices"] = packing.compute_slices;
  json["memory_slots"] = packing.memory_slots;
  json["instances"] = Json::array();
  for (const PackedInstance& instance : packing.instances) {
    const std::optional<SliceDemand>& demand = instance.demand;
    json["instances"].push_back(
        {{"device", instance.device},
         {"profile", instance.profile},
         {"start", instance.start},
         {"memory_slots", instance.memory_slots},
         {"model", instance.model},
         {"needed_mib", instance.needed_mib},
         {"margin_mib", instance.margin_mib},
         {"latency_ms", demand ? Json(demand->latency_ms) : Json()},
         {"energy_j", demand ? Json(demand->energy_j) : Json()}});
  }
  json["unplaced"] = packing.unplaced;
  json["reason"] = packing.reason;
  return json;
}

std::string FormatJson(const Packing& packing) {
  return Dump(PackingToJson(packing));
}

}  // namespace foretell::mig
