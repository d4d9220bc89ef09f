#pragma once

#include <memory>

#include "src/network/network.h"

namespace foretell::learned {

/// A network of a kind with TermKindOf. Throws as MakeNetwork.
std::shared_ptr<Network> MakeTermNetwork(const NetworkOptions& options);

}  // namespace foretell::learned
