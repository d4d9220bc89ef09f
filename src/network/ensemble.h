#pragma once

#include <memory>
#include <vector>

#include "src/network/network.h"

namespace foretell::learned {

/// Networks that differ only in their random numbers and learn side by side:
/// the loss is the sum of theirs, the prediction the mean of their outputs,
/// which is the geometric mean of figures in logarithms. Parameters are named
/// "members.<member>.…". `options` are those of all together.
///
/// Requires at least one member.
std::shared_ptr<Network> MakeEnsemble(
    const NetworkOptions& options,
    std::vector<std::shared_ptr<Network>> members);

}  // namespace foretell::learned
