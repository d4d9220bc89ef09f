#pragma once

#include <cstdint>
#include <set>

#include "foretell/device.h"
#include "foretell/graph.h"

namespace foretell::memory {

/// What TransformerEngine's kernels (2.18) change in the memory of a step.
struct TeMemory {
  /// The first product, which allocates a workspace of cuBLAS that all share
  /// (pytorch/cpp_extensions/gemm.py) until the process ends; kNone: none.
  NodeId first_product = kNone;
  std::int64_t workspace_bytes = 0;  ///< Before the allocator's rounding.
  /// Storages of the trace that `device` does without: of values with a scale
  /// per tensor it keeps no transposed copy if its products take any layout
  /// (csrc/quantizer.cpp). The copy, which lives longer, then stands for both.
  std::set<StorageId> needless = {};
};

/// Changes nothing for a graph without products of TransformerEngine.
TeMemory TeMemoryOf(const OperatorGraph& graph, const DeviceSpec& device);

}  // namespace foretell::memory
