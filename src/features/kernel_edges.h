#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "foretell/graph.h"
#include "src/kernels/kernels.h"

namespace foretell::learned {

/// Data-flow edges between kernels, as indices into a list of kernels.
struct KernelEdges {
  std::vector<std::int64_t> sources;  ///< [num_edges], kernels that write.
  std::vector<std::int64_t> targets;  ///< [num_edges], kernels that read.

  bool operator==(const KernelEdges&) const = default;
};

/// Edges between `kernels` of `graph`, which are in the order of their launch;
/// some may have been left out. A storage's writer is the last kernel of the
/// operator that made a result in it. Every kernel of an operator reads from
/// the writers of all operands and from the kernel before it in the same
/// operator. Operators without kernels (views) pass on the writers of their
/// base. Parameters and inputs have no writer.
KernelEdges EdgesOfKernels(const OperatorGraph& graph,
                           std::span<const cost::Kernel> kernels);

/// Kernels and the edges between them.
struct KernelGraph {
  std::vector<cost::Kernel> kernels;
  KernelEdges edges;
};

/// Kernels that are equal and read from equal kernels become one with the sum
/// of their counts, at the place of the first; an edge leads from the first
/// kernel that is equal to the one that wrote. A model of a kernel and the mean
/// of its producers gives the same result, with fewer nodes, since networks
/// repeat their blocks.
KernelGraph MergeAlike(const KernelGraph& graph);

}  // namespace foretell::learned
