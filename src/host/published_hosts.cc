#include "src/host/published_hosts.h"

#include <string>

namespace foretell::host {
namespace {

constexpr std::string_view kFast = "fast";
constexpr std::string_view kTypical = "typical";
constexpr std::string_view kSlow = "slow";
constexpr std::string_view kNames[] = {kFast, kTypical, kSlow};

}  // namespace

std::span<const std::string_view> PublishedHostNames() { return kNames; }

std::optional<HostSpec> PublishedHost(std::string_view name) {
  const std::string own(name);
  if (name == kFast)
    return HostSpec{.name = own, .factor = 0.58, .spread = 1.35};
  if (name == kTypical) return HostSpec{};
  if (name == kSlow)
    return HostSpec{.name = own, .factor = 1.33, .spread = 1.19};
  return std::nullopt;
}

}  // namespace foretell::host
