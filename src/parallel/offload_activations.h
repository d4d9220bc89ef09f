#pragma once

#include "foretell/graph.h"

namespace foretell::parallel {

/// The training step of `graph` as under torchtune's OffloadActivations
/// (training/_activation_offloading.py at 05cda5e, with streams): tensors of at
/// least 1,024 bytes that the network's operators save move to the host, and
/// come back before the backward pass reads them. The loss is outside of it.
///
/// A step without such tensors is returned unchanged.
OperatorGraph OffloadActivations(const OperatorGraph& graph);

}  // namespace foretell::parallel
