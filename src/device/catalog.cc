#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <utility>

#include "foretell/device.h"
#include "src/core/failure.h"
#include "src/core/ignoring_case.h"
#include "src/core/nearest.h"
#include "src/core/text.h"
#include "src/device/compute_capability.h"
#include "src/device/embedded_data.h"
#include "src/device/read_device.h"

namespace foretell {
namespace {

/// Runs of letters and digits of a name in lower case.
std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char letter : name) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte)) {
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

/// `words` as one, without the vendor's in front: "4090" of "NVIDIA GeForce RTX
/// 4090" and of "rtx-4090".
std::string BareName(const std::vector<std::string>& words) {
  std::string bare = Joined(words, "");
  for (const std::string_view vendor :
       {"nvidia", "geforce", "tesla", "rtx", "gtx"}) {
    if (bare.starts_with(vendor)) bare.erase(0, vendor.size());
  }
  return bare;
}

/// Everything that `device` is called.
std::vector<std::string> NamesOf(const DeviceSpec& device) {
  std::vector<std::string> names = device.aliases;
  names.push_back(device.name);
  names.push_back(device.display_name);
  return names;
}

/// `words` in alphabetical order, as one: of "A100-80GB-SXM4" and of
/// "a100-sxm4-80gb". No bare name begins with a blank.
std::string SortedName(std::vector<std::string> words) {
  std::ranges::sort(words);
  return " " + BareName(words);
}

/// Keys by which a device is found, of one of its names.
std::array<std::string, 2> KeysOf(std::string_view name) {
  const std::vector<std::string> words = WordsOf(name);
  return {BareName(words), SortedName(words)};
}

/// Beginnings of the names of other vendors' accelerators.
constexpr std::string_view kOtherVendors[] = {
    "amd",    "apple",      "arc",      "ascend", "gaudi", "gfx",
    "habana", "inferentia", "instinct", "intel",  "mi1",   "mi2",
    "mi3",    "mi4",        "radeon",   "rx",     "tpu",   "trainium"};

bool IsOfOtherVendor(std::string_view name) {
  const std::string bare = BareName(WordsOf(name));
  return std::ranges::any_of(kOtherVendors, [&](std::string_view beginning) {
    return bare.starts_with(beginning);
  });
}

/// Names of at most three of the `devices` that may be meant by `name`.
std::vector<std::string> NearDevices(std::string_view name,
                                     const std::vector<DeviceSpec>& devices) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> known;
  std::map<std::string, std::string> device_of;
  for (const DeviceSpec& device : devices) {
    for (const std::string& one : NamesOf(device)) {
      known.push_back(BareName(WordsOf(one)));
      device_of.emplace(known.back(), device.name);
    }
  }
  std::vector<std::string> near;
  for (const std::string& one :
       Nearest(BareName(WordsOf(name)), known, known.size())) {
    const std::string& device = device_of.at(one);
    if (near.size() < kMost && std::ranges::count(near, device) == 0) {
      near.push_back(device);
    }
  }
  return near;
}

template <typename Item>
[[noreturn]] void ThrowNotFound(const char* what, std::string_view name,
                                const std::vector<Item>& items) {
  const std::string known = Joined(items | std::views::transform(&Item::name));
  throw NotFound("{} '{}' is unknown; known are: {}", what, name,
                 known.empty() ? "none" : known);
}

/// A profile's name without what Kubernetes' resources and nvidia-smi put
/// before it, and with the plus that resources may not have.
std::string OwnProfileName(std::string_view name) {
  for (const std::string_view prefix : {"nvidia.com/", "mig-", "mig "}) {
    if (EqualsIgnoringCase(name.substr(0, prefix.size()), prefix)) {
      name.remove_prefix(prefix.size());
    }
  }
  std::string own(name);
  const std::size_t media = own.find(".me");
  if (media != std::string::npos) own[media] = '+';
  return own;
}

DeviceCatalog ReadBuiltIn() {
  DeviceCatalog catalog;
  for (const EmbeddedFile& file : device::DeviceFiles()) {
    catalog.AddDevice(file.bytes, file.path);
  }
  for (const EmbeddedFile& file : device::EnvironmentFiles()) {
    catalog.AddContexts(file.bytes, file.path);
  }
  return catalog;
}

constexpr int kMostThreadsPerSm = 2048;

/// `sms` of the device's multiprocessors, as many as have their threads with
/// 2,048 on each.
double FullSms(const DeviceSpec& device, int sms) {
  return static_cast<double>(sms) * device.ThreadsPerSm() / kMostThreadsPerSm;
}

}  // namespace

Precision AutocastPrecision(const DeviceSpec& device) {
  return device.compute_capability >= device::kAmpereData ? Precision::kBf16
                                                          : Precision::kFp16;
}

const MigProfile& DeviceSpec::FindMigProfile(
    std::string_view profile_name) const {
  const std::string own = OwnProfileName(profile_name);
  for (const MigProfile& profile : mig_profiles) {
    if (EqualsIgnoringCase(profile.name, own)) return profile;
  }
  if (mig_profiles.empty()) {
    throw NotFound("MIG profile '{}': {} has no MIG", profile_name, name);
  }
  ThrowNotFound(("MIG profile of " + name).c_str(), profile_name, mig_profiles);
}

int DeviceSpec::ThreadsPerSm() const {
  if (compute_capability == device::kTuring) return 1024;
  const bool is_small = compute_capability >= device::kGeForceBlackwell ||
                        (compute_capability > device::kAmpereData &&
                         compute_capability < device::kHopper);
  return is_small ? 1536 : kMostThreadsPerSm;
}

double ContextModel::ContextMib(const DeviceSpec& device) const {
  for (const std::string& key : {device.architecture, std::string("*")}) {
    const auto measured = context_mib.find(key);
    if (measured == context_mib.end()) continue;
    const auto full_sms = context_full_sms.find(key);
    if (full_sms == context_full_sms.end()) return measured->second;
    const double more = FullSms(device, device.sms) - full_sms->second;
    return std::max(measured->second + context_mib_per_sm * more, 0.0);
  }
  throw InvalidArgument(
      "environment '{}' has no context size for '{}' and no default \"*\"",
      name, device.architecture);
}

double ContextModel::ContextSavedMib(const DeviceSpec& device, int sms) const {
  const double saved =
      context_mib_per_sm * FullSms(device, std::max(device.sms - sms, 0));
  return std::min(saved, ContextMib(device));
}

const DeviceCatalog& DeviceCatalog::BuiltIn() {
  static const DeviceCatalog catalog = ReadBuiltIn();
  return catalog;
}

std::optional<std::size_t> DeviceCatalog::IndexOf(std::string_view name) const {
  const auto [bare, sorted] = KeysOf(name);
  // "a10080" and "a10080g" are "a10080gb".
  for (const std::string& key : {bare, bare + "gb", bare + "b", sorted}) {
    const auto found = index_of_.find(key);
    if (found != index_of_.end()) return found->second;
  }
  return std::nullopt;
}

void DeviceCatalog::RefuseTakenNames(const DeviceSpec& device,
                                     std::string_view origin) const {
  for (const std::string& name : NamesOf(device)) {
    const std::optional<std::size_t> index = IndexOf(name);
    if (!index || devices_[*index].name == device.name) continue;
    throw Corrupt(
        "{}: device '{}' claims the name \"{}\", which belongs to '{}'", origin,
        device.name, name, devices_[*index].name);
  }
}

void DeviceCatalog::AddDevice(std::string_view json, std::string_view origin) {
  DeviceSpec device = device::ReadDevice(json, origin);
  RefuseTakenNames(device, origin);
  const auto same = std::ranges::find(devices_, device.name, &DeviceSpec::name);
  const auto index = static_cast<std::size_t>(same - devices_.begin());
  if (same == devices_.end()) {
    devices_.push_back(std::move(device));
  } else {
    *same = std::move(device);
    std::erase_if(index_of_,
                  [index](const auto& entry) { return entry.second == index; });
  }
  for (const std::string& name : NamesOf(devices_[index])) {
    for (const std::string& key : KeysOf(name)) index_of_[key] = index;
  }
}

void DeviceCatalog::AddContexts(std::string_view json,
                                std::string_view origin) {
  for (device::DeclaredContext& declared : device::ReadContexts(json, origin)) {
    const auto same = std::find_if(contexts_.begin(), contexts_.end(),
                                   [&declared](const ContextModel& known) {
                                     return EqualsIgnoringCase(
                                         known.name, declared.context.name);
                                   });
    const auto index = static_cast<std::size_t>(same - contexts_.begin());
    if (same == contexts_.end()) {
      contexts_.push_back(std::move(declared.context));
    } else {
      *same = std::move(declared.context);
    }
    if (declared.is_default) default_context_ = index;
  }
}

const DeviceSpec* DeviceCatalog::DeviceNamed(std::string_view name) const {
  const std::optional<std::size_t> index = IndexOf(name);
  return index ? &devices_[*index] : nullptr;
}

const DeviceSpec& DeviceCatalog::FindDevice(std::string_view name) const {
  if (const DeviceSpec* device = DeviceNamed(name)) return *device;
  std::string hint = "; only NVIDIA GPUs are modelled";
  if (!IsOfOtherVendor(name)) {
    const std::vector<std::string> near = NearDevices(name, devices_);
    hint = near.empty() ? "" : "; near: " + Joined(near);
  }
  throw NotFound(
      "device '{}' is unknown{}; list all with `foretell devices`, add one "
      "with --device-file",
      name, hint);
}

void DeviceCatalog::KeepForHost(std::int64_t mib) {
  for (DeviceSpec& device : devices_) {
    if (!device.unified_memory) continue;
    const std::int64_t pool = device.usable_mib + device.host_share_mib;
    device.host_share_mib = std::min(mib, pool - 1);
    device.usable_mib = pool - device.host_share_mib;
  }
}

const ContextModel& DeviceCatalog::FindContext(std::string_view name) const {
  for (const ContextModel& context : contexts_) {
    if (EqualsIgnoringCase(context.name, name)) return context;
  }
  ThrowNotFound("environment", name, contexts_);
}

const ContextModel& DeviceCatalog::DefaultContext() const {
  if (contexts_.empty()) {
    throw NotFound("the catalogue has no environment");
  }
  return contexts_[default_context_];
}

}  // namespace foretell
