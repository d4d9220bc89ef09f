#include "src/host/published_hosts.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "src/device/compute_capability.h"

namespace foretell::host {
namespace {

constexpr std::string_view kNames[] = {"fast", "typical", "slow"};

struct HostRow {
  std::string_view name;
  double factor;
  double spread;
};
/// As fit_hosts.py prints them, but for the factor 1 of the typical host, to
/// which all other factors are relative.
constexpr HostRow kPublished[] = {
    {kNames[0], 0.56, 1.35}, {kNames[1], 1, 1.22}, {kNames[2], 1.24, 1.19}};

const HostSpec kOlder = {.factor = 1, .spread = 1.5};
/// Of GPUs since Hopper. Blackwell's are taken to be as Hopper's.
const HostSpec kNewer = {.factor = 0.5, .spread = 1.5};

bool IsCalledFromPython(const Run& run) {
  return run.host == Host::kPython &&
         (run.runtime.runtime == Runtime::kEager ||
          run.runtime.runtime == Runtime::kCompile);
}

}  // namespace

std::span<const std::string_view> PublishedHostNames() { return kNames; }

std::optional<HostSpec> PublishedHost(std::string_view name) {
  const auto* row = std::ranges::find(kPublished, name, &HostRow::name);
  if (row == std::end(kPublished)) return std::nullopt;
  return HostSpec{
      .name = std::string(name), .factor = row->factor, .spread = row->spread};
}

HostSpec DefaultHost(const DeviceSpec& device, const Run& run) {
  const bool is_newer = device.compute_capability >= device::kHopper;
  return is_newer && IsCalledFromPython(run) ? kNewer : kOlder;
}

}  // namespace foretell::host
