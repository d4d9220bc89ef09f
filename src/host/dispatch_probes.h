#pragma once

#include <string>
#include <vector>

#include "src/host/time_probes.h"

namespace foretell::host {

/// ATen operators of several kinds, called from C++ on tensors of a few values,
/// on the CPU and on meta, with and without autograd. No GPU is needed, and
/// none is used: what is timed is how LibTorch finds the operator, checks it,
/// records it and makes its result. LibTorch keeps to one CPU thread from now
/// on: others would wait for work by spinning.
std::vector<Probe> DispatchProbes();

/// Version of the LibTorch that the probes call: "2.13.0".
std::string LibTorchVersion();

}  // namespace foretell::host
