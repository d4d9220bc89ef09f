#pragma once

#include <cstdint>
#include <functional>
#include <ostream>

#include "foretell/graph.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// ATen calls as graphs: what a trace records, and what runs inside.
struct Decomposition {
  OperatorGraph whole;  ///< The calls that `body` makes itself.
  /// The calls that these make, down to operators with a kernel of their own
  /// on the CPU. Views are in it, allocations are not; `copy_` reads its source
  /// alone. An operator that PyTorch runs as a loop of its own on the CPU shows
  /// nothing of it.
  OperatorGraph parts;
};

/// Runs `body` on the CPU and writes down its calls (at::RecordFunction).
/// Tensors made before the call are sources.
Decomposition Decompose(const std::function<void()>& body);

/// What a trace on meta records of the call that `make` returns; tensors that
/// `make` makes are inputs.
OperatorGraph TraceOf(const std::function<std::function<void()>()>& make);

/// Work of all kernels of a graph, each counted as often as it is launched.
struct KernelWork {
  std::int64_t macs = 0;
  std::int64_t bytes = 0;

  bool operator==(const KernelWork&) const = default;
};
std::ostream& operator<<(std::ostream& stream, const KernelWork& work);

KernelWork WorkOf(const OperatorGraph& graph, const Run& mode = {});

}  // namespace foretell::cost
