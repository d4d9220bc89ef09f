#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/host/probe_time.h"

namespace foretell::host {

/// An operator to call, and the key of its time.
struct Probe {
  ProbeTime what;  ///< Its time is not filled.
  std::function<void()> call;
};

/// How often probes are called.
struct ProbeOptions {
  int batches = 31;  ///< Timed batches per probe, >= 1; one more warms up.
  int calls = 200;   ///< Calls per batch, >= 1.
};

/// Microseconds since a fixed time.
using ClockUs = std::function<double()>;

/// CPU time of the calling thread: waiting for others does not count.
double ThreadTimeUs();

/// Times every probe by its fastest batch, because other load only adds time.
/// Interleaves batches of all probes, so that changes in the machine's speed
/// affect all alike.
std::vector<ProbeTime> TimeProbes(std::span<const Probe> probes,
                                  const ClockUs& now_us,
                                  const ProbeOptions& options = {});

}  // namespace foretell::host
