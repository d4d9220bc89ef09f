#pragma once

#include "foretell/graph.h"

namespace foretell::runtime {

/// Adds the copies that convolutions on channels-last images need
/// (PrefersChannelsLast): of the step's images and weights that lie otherwise,
/// and of a convolution's result that an inference pass returns, which has the
/// strides of eager PyTorch. Lifetimes are derived.
OperatorGraph CopyImages(const OperatorGraph& graph);

}  // namespace foretell::runtime
