#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "src/core/failure.h"
#include "src/core/statistics.h"
#include "src/host/measured_host.h"

// One factor for a host: what calls an operator is the same code everywhere,
// and a CPU that needs twice as long for one needs about twice as long for the
// others. The median over operators is not moved by the few that LibTorch
// computes by instructions which only some CPUs have.

namespace foretell::host {
namespace {

/// Median deviation of a normal distribution to its standard deviation.
constexpr double kSigmaPerMedianDeviation = 1.4826;

std::string NameOf(const ProbeTime& time) {
  return fmt::format("{} on {} tensors{}", time.probe, time.tensors,
                     time.grad ? " with autograd" : "");
}

void RequirePositive(const ProbeTime& time) {
  if (time.us > 0) return;
  throw InvalidArgument("{} took {} us, expected more than 0", NameOf(time),
                        time.us);
}

/// Logarithm of own time over the reference's.
double LogRatio(const ProbeTime& own, const ProbeTime& reference) {
  RequirePositive(own);
  RequirePositive(reference);
  return std::log(own.us / reference.us);
}

}  // namespace

const ProbeTime* FindProbe(const MeasuredHost& host, const ProbeTime& call) {
  const auto found = std::ranges::find_if(
      host.probes,
      [&call](const ProbeTime& time) { return time.IsOfSameCall(call); });
  return found == host.probes.end() ? nullptr : &*found;
}

HostSpec CompareHosts(std::span<const ProbeTime> probes,
                      const MeasuredHost& reference) {
  std::vector<double> logs;
  for (const ProbeTime& own : probes) {
    const ProbeTime* other = FindProbe(reference, own);
    if (other != nullptr) logs.push_back(LogRatio(own, *other));
  }
  if (logs.empty()) {
    throw InvalidArgument(
        "none of {} operators was timed on the reference host '{}'",
        probes.size(), reference.spec.name);
  }
  const RobustMiddle middle = MiddleOf(std::move(logs));
  return {.factor = reference.spec.factor * std::exp(middle.median),
          .spread = JointFactor(
              reference.spec.spread,
              std::exp(kSigmaPerMedianDeviation * middle.deviation))};
}

}  // namespace foretell::host
