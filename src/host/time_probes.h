#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/host/probe_time.h"

namespace foretell::host {

/// An operator that can be called, and what its time is filed under.
struct Probe {
  ProbeTime what;  ///< Its time is not filled.
  std::function<void()> call;
};

/// How often probes are called.
struct ProbeOptions {
  int batches = 31;  ///< Timed batches per probe, >= 1; one more warms up.
  int calls = 200;   ///< Calls per batch, >= 1.
};

/// Microseconds since some moment.
using ClockUs = std::function<double()>;

/// CPU time of the calling thread: waiting for others does not count.
double ThreadTimeUs();

/// Times every probe: its fastest batch, as what else a machine does only adds
/// time. Batches of all probes take turns, so that a machine that changes its
/// pace does so for all of them alike.
std::vector<ProbeTime> TimeProbes(std::span<const Probe> probes,
                                  const ClockUs& now_us,
                                  const ProbeOptions& options = {});

}  // namespace foretell::host
