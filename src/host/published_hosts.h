#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "foretell/host.h"

namespace foretell::host {

/// Names of the hosts that stand for the thirds of published ones: "fast",
/// "typical", "slow".
std::span<const std::string_view> PublishedHostNames();

/// The host of such a name; empty for another name. "typical" is HostSpec{},
/// whose interval depends on the device.
///
/// Source: scripts/published/fit_hosts.py, which prints for each third of the
/// hosts the median of their factors and the spread that holds all of them.
std::optional<HostSpec> PublishedHost(std::string_view name);

}  // namespace foretell::host
