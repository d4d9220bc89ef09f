#pragma once

#include <memory>

#include "src/network/network.h"

namespace foretell::learned {

/// A network over the terms of options.kind, of options that MakeNetwork has
/// checked. Throws Error(kInvalidArgument) for widths that are not the layout's
/// and for more than one output.
std::shared_ptr<Network> MakeTermNetwork(const NetworkOptions& options);

}  // namespace foretell::learned
