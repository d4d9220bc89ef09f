#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "foretell/graph.h"
#include "src/runtime/compile/loops.h"
#include "src/runtime/compile/schedule.h"

namespace foretell::runtime {

/// A tensor in memory of one pass, that Inductor may free.
struct Buffer {
  ValueId value = kNone;
  std::int64_t bytes = 0;
  /// Made before the pass, for it alone: a tensor kept from the forward pass.
  bool is_kept = false;
  /// The caller, or a later pass, reads it.
  bool is_result = false;
  std::vector<int> readers = {};  ///< Kernels, each once, in order.
};

/// What a kernel does in memory, as indices of PassBuffers::buffers.
struct KernelBuffers {
  std::vector<int> made = {};  ///< Those that it alone reads included.
  std::vector<int> read = {};  ///< Without its own.
  /// Kernels that must run before it, and after it.
  std::vector<int> before = {};
  std::vector<int> after = {};
  std::int64_t made_bytes = 0;
};

/// One pass, which Inductor compiles as one function: forward or backward.
/// Parameters, inputs and what the pass updates are not among the buffers: the
/// caller holds them.
struct PassBuffers {
  std::vector<Buffer> buffers;
  std::vector<KernelBuffers> kernels;
};

/// The buffers of `kernels`, which are of one pass and in an order in which
/// each comes after those that it reads.
PassBuffers BuffersOf(const OperatorGraph& graph,
                      const std::vector<Loop>& loops,
                      std::span<const KernelNodes> kernels);

}  // namespace foretell::runtime
