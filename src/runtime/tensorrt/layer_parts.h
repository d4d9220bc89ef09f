#pragma once

#include <cstdint>

#include "foretell/graph.h"

namespace foretell::runtime {

/// What an operator may be in a layer.
enum class LayerPart : std::uint8_t {
  kOther,      ///< A layer of its own.
  kFree,       ///< Nothing: IsFreeLayer.
  kPointwise,  ///< Works element by element.
  kRows,       ///< A norm or a softmax along rows.
  kPool,
  kProduct,
};

/// True for an operator that only gives another shape, type or name to memory
/// that exists.
bool IsFreeLayer(const OperatorGraph& graph, const Node& node);

LayerPart LayerPartOf(const OperatorGraph& graph, const Node& node);

}  // namespace foretell::runtime
