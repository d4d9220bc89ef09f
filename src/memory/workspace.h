#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "foretell/device.h"
#include "foretell/graph.h"
#include "foretell/run.h"

namespace foretell::memory {

/// True for nodes that load cuDNN's kernels: convolutions and recurrent layers,
/// except cells.
bool UsesCudnn(const Node& node);

/// Classes of convolutions by cuDNN's choice of algorithm.
enum class ConvolutionClass {
  kStem,  ///< Dense, of at most four channels: the first layer.
  kUnitStride3x3,
  kDense,  ///< Any other with more than one tap.
  kGrouped,
  kPointwise,
  kGroupedPointwise,
  kDepthwise,
};
inline constexpr int kNumConvolutionClasses = 7;

/// A convolution, forward or backward.
struct ConvolutionFacts {
  ConvolutionClass convolution = ConvolutionClass::kDense;
  std::int64_t image_bytes = 0;  ///< Bytes of input and output together.
  std::int64_t weight_bytes = 0;
};

/// Empty for a node that is not a convolution.
std::optional<ConvolutionFacts> ConvolutionFactsOf(const OperatorGraph& graph,
                                                   const Node& node);

/// Scratch memory of one pass of a node: allocated once the node's output
/// `output` has been, freed before the next output is allocated. Blocks of the
/// same output live together.
struct WorkspaceBlock {
  std::size_t output = 0;
  std::int64_t bytes = 0;  ///< Above 0.
  bool optional = true;    ///< As AllocationEvent: cuDNN's are, one per output.
};

/// The blocks of a node on `device` under `torch` in the order in which they
/// live, by ascending output; empty for nodes without a workspace.
std::vector<WorkspaceBlock> WorkspaceBlocks(const OperatorGraph& graph,
                                            const Node& node,
                                            const DeviceSpec& device,
                                            const TorchVersion& torch = {});

}  // namespace foretell::memory
