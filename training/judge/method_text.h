#pragma once

#include <string>

#include "src/network/network.h"

namespace foretell::training {

/// Name of a network in an evaluation: "pmgns 64", its width, and with a prior
/// "pmgns 64 x analytic" or, for terms, "kernels 32, averaged with analytic".
std::string MethodText(const learned::NetworkOptions& network,
                       const std::string& prior);

}  // namespace foretell::training
