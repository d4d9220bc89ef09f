#pragma once

#include "foretell/graph.h"

namespace foretell {

/// True for one step of a recurrent layer that the network calls itself
/// (`lstm_cell`): PyTorch runs products, and a separate kernel for the gates.
inline bool IsRecurrentCell(const Node& node) {
  return node.kind == OpKind::kRecurrent && node.target.ends_with("_cell");
}

/// True for a whole recurrent layer or its backward operator: cuDNN runs all
/// steps, with its own products.
inline bool IsRecurrentLayer(const Node& node) {
  return node.kind == OpKind::kRecurrentBackward ||
         (node.kind == OpKind::kRecurrent && !IsRecurrentCell(node));
}

}  // namespace foretell
