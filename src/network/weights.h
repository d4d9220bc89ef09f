#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <map>
#include <string>

#include "src/network/network.h"
#include "src/network/safetensors.h"

namespace foretell::learned {

/// A tensor's elements, from wherever it is. Throws Error(kInternal) for a type
/// other than float32, float64, int64 and uint8.
StoredTensor ToStored(const at::Tensor& tensor);
/// The same tensor again, on the CPU. Throws Error(kUnsupported) for a type
/// that ToStored does not make.
at::Tensor ToTensor(const StoredTensor& stored);

/// Parameters and buffers of a network by name.
std::map<std::string, StoredTensor> WeightsOf(const torch::nn::Module& network);

/// Copies weights into a network, wherever it is. Throws Error(kCorrupt) that
/// names `origin`, the tensor and both values unless names, types and shapes
/// are those of the network.
void LoadWeights(const std::map<std::string, StoredTensor>& weights,
                 const std::string& origin, torch::nn::Module& network);

/// The network that `options` describe with these weights, set to evaluation.
/// Sizes that the weights cannot fill are refused before memory is allocated.
std::shared_ptr<Network> RestoreNetwork(
    const NetworkOptions& options,
    const std::map<std::string, StoredTensor>& weights,
    const std::string& origin);

}  // namespace foretell::learned
