#pragma once

#include <set>
#include <string>

#include "foretell/graph.h"
#include "foretell/quantize.h"

namespace foretell {

/// Names of the weights that `spec` quantizes in the network whose forward pass
/// `graph` is: matrices that linear layers and matrix products alone read, as
/// transformers replaces torch.nn.Linear. Without `spec.skip` the matrix of the
/// last such product keeps its type: a language model's head, a classifier
/// (get_keys_to_not_convert in transformers/integrations/bitsandbytes.py).
///
/// Throws Error(kInvalidArgument) if there is no such matrix.
std::set<std::string> LayersToQuantize(const OperatorGraph& graph,
                                       const QuantizeSpec& spec);

/// The name of the matrix of the last linear layer or matrix product; empty if
/// there is none.
std::string LastLayer(const OperatorGraph& graph);

}  // namespace foretell
