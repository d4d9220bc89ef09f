#pragma once

#include <memory>

#include "src/network/network.h"

namespace foretell::learned {

/// A network over operators, of options that MakeNetwork has checked.
std::shared_ptr<Network> MakeGraphNetwork(const NetworkOptions& options);

}  // namespace foretell::learned
