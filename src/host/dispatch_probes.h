#pragma once

#include <string>
#include <vector>

#include "src/host/time_probes.h"

namespace foretell::host {

/// ATen operators of several kinds, called from C++ on tensors of a few values,
/// on the CPU and on meta, with and without autograd. Uses no GPU: the time is
/// LibTorch's for finding the operator, checking it, recording it and creating
/// its result. Sets LibTorch to one CPU thread: others would spin while waiting
/// for work.
std::vector<Probe> DispatchProbes();

/// Version of the LibTorch that the probes call: "2.13.0".
std::string LibTorchVersion();

}  // namespace foretell::host
