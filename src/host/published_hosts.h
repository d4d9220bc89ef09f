#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "foretell/device.h"
#include "foretell/host.h"
#include "foretell/run.h"

namespace foretell::host {

/// Names of the hosts that stand for the thirds of published ones: "fast",
/// "typical", "slow".
std::span<const std::string_view> PublishedHostNames();

/// The host of such a name; empty for another name.
///
/// Source: scripts/published/fit_hosts.py, which prints for each third of the
/// hosts the median of their factors and the spread that holds all of them.
std::optional<HostSpec> PublishedHost(std::string_view name);

/// The host, without a name, to expect of a machine with such a GPU. Newer GPUs
/// are in newer machines, where Python calls operators twice as fast; nothing
/// shows that of what C++ calls, engines of runtimes included.
///
/// Source: as above, the median of the hosts of each generation; its spread
/// holds 90 % of the rows of hosts left out (fit_intervals.py).
HostSpec DefaultHost(const DeviceSpec& device, const Run& run);

}  // namespace foretell::host
