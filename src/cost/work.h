#pragma once

#include "foretell/graph.h"

namespace foretell::cost {

/// What a node has to do, whatever it runs on.
struct Work {
  bool has_kernel = true;  ///< False for views and no-op conversions.
  double flops = 0;
  double bytes_read = 0;
  double bytes_written = 0;
  int kernels = 0;
};

/// Traffic and arithmetic of `node`. A tensor counts its elements once, but
/// never more than its storage (expanded tensors); lookups count only what
/// they look up.
Work WorkOf(const OperatorGraph& graph, const Node& node);

}  // namespace foretell::cost
