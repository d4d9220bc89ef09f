#pragma once

#include <optional>
#include <vector>

#include "foretell/device.h"
#include "foretell/graph.h"

namespace foretell::cost {

/// What the factor of an engine depends on, apart from the device.
struct EngineTraits {
  bool int8 = false;  ///< Has tensors of 8 bits.
  bool sparse = false;
  bool groups = false;  ///< Has convolutions in groups, as depthwise ones.
};

/// Those of a graph that TensorRT runs; empty for any other runtime.
std::optional<EngineTraits> EngineTraitsOf(const OperatorGraph& graph);

/// By node of `graph`: whether EngineFactor applies to its kernels. Not to
/// recurrent layers: the published networks have none, and no source says that
/// TensorRT's loops are slower than cuDNN's, so they take as long as PyTorch's.
std::vector<bool> NodesWithEngineFactor(const OperatorGraph& graph);

/// How much longer other kernels of an engine take than PyTorch's rules say
/// that such kernels do: data/tensorrt.json, from published latencies.
double EngineFactor(const EngineTraits& engine, const DeviceSpec& device);

}  // namespace foretell::cost
