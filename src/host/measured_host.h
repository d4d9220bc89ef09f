#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/host.h"
#include "src/host/probe_time.h"

namespace foretell::host {

/// Result of `foretell host` for a machine.
struct MeasuredHost {
  HostSpec spec;            ///< Its name is empty until one is given.
  std::string cpu;          ///< Model; empty if a file does not state it.
  std::string libtorch;     ///< Version of the operators.
  std::string measured_at;  ///< UTC, "2026-01-31T12:00:00Z".
  std::string source;       ///< Where the factor is from.
  std::vector<ProbeTime> probes;

  bool operator==(const MeasuredHost&) const = default;
};

/// The machine that others are compared with: data/hosts/reference.json.
const MeasuredHost& ReferenceHost();

/// The factor of a host: that of `reference` times the median, over the probes
/// of both, of own time / reference's time. Its spread combines that of the
/// reference and the disagreement of operators: e to the median absolute
/// deviation of the ratios' logarithms, scaled to the standard deviation of a
/// normal distribution.
///
/// Throws Error(kInvalidArgument) if they have no probe in common, and for a
/// time <= 0.
HostSpec CompareHosts(std::span<const ProbeTime> probes,
                      const MeasuredHost& reference);

/// The time of the same call among the probes of `host`; null without one.
const ProbeTime* FindProbe(const MeasuredHost& host, const ProbeTime& call);

/// Throws Error(kInvalidArgument) unless `name` is valid for a host: 1 to 64
/// letters, digits, '.', '_' and '-', the first a letter or a digit; "python"
/// and "cpp" are reserved.
void CheckHostName(std::string_view name);

/// A JSON document, and back: `name`, `factor` and `spread` are required, other
/// fields optional. Throws Error(kCorrupt) that names `origin`, the field and
/// its value: for factors outside 0.01 to 100, spreads outside 1 to 100, names
/// that CheckHostName refuses and fields that are unknown.
std::string HostToJson(const MeasuredHost& host);
MeasuredHost HostFromJson(std::string_view json, const std::string& origin);

}  // namespace foretell::host
