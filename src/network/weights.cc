#include "src/network/weights.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "foretell/error.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"

namespace foretell::learned {
namespace {

constexpr std::array<std::pair<std::string_view, at::ScalarType>, 4> kTypes = {
    {{"F32", at::kFloat},
     {"F64", at::kDouble},
     {"I64", at::kLong},
     {"U8", at::kByte}}};

std::vector<std::pair<std::string, at::Tensor>> TensorsOf(
    const torch::nn::Module& network) {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (const auto& item : network.named_parameters()) {
    tensors.emplace_back(item.key(), item.value());
  }
  for (const auto& item : network.named_buffers()) {
    tensors.emplace_back(item.key(), item.value());
  }
  return tensors;
}

/// Most of a network are square matrices: at least one per layer except the
/// first; in a term network also one per head.
std::int64_t CountMemberLayers(const NetworkOptions& options) {
  const std::int64_t graph = options.graph_blocks * options.layers_per_block;
  const std::optional<TermSet>& terms = options.kind.terms;
  if (!terms) {
    return std::max({std::int64_t{1}, options.head_blocks - 1, graph - 1});
  }
  return options.heads + (LayoutOf(*terms).num_features > 0 ? graph : 1);
}

void CheckSizes(const NetworkOptions& options,
                const std::map<std::string, StoredTensor>& weights,
                const std::string& origin) {
  std::int64_t elements = 0;
  for (const auto& [name, tensor] : weights) elements += tensor.NumElements();
  const std::int64_t layers = options.members * CountMemberLayers(options);
  if (options.hidden * options.hidden * (layers - options.members) > elements ||
      options.hidden > elements || layers > elements) {
    throw Corrupt("{}: network of {} and width {}, but only {}", origin,
                  Counted(layers, "layer"), options.hidden,
                  Counted(elements, "weight"));
  }
}

}  // namespace

StoredTensor ToStored(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().cpu().contiguous();
  const auto* found =
      std::ranges::find(kTypes, plain.scalar_type(),
                        &std::pair<std::string_view, at::ScalarType>::second);
  if (found == kTypes.end()) {
    throw InternalFailure("tensor of type {} cannot be stored",
                          at::toString(plain.scalar_type()));
  }
  StoredTensor stored{.dtype = std::string(found->first),
                      .shape = plain.sizes().vec()};
  stored.bytes.assign(static_cast<const char*>(plain.data_ptr()),
                      plain.nbytes());
  return stored;
}

at::Tensor ToTensor(const StoredTensor& stored) {
  const auto* found =
      std::ranges::find(kTypes, stored.dtype,
                        &std::pair<std::string_view, at::ScalarType>::first);
  if (found == kTypes.end()) {
    throw Unsupported("tensor of type {} cannot be used", stored.dtype);
  }
  at::Tensor tensor = at::empty(stored.shape, at::dtype(found->second));
  std::memcpy(tensor.data_ptr(), stored.bytes.data(),
              std::min(stored.bytes.size(), tensor.nbytes()));
  return tensor;
}

std::map<std::string, StoredTensor> WeightsOf(
    const torch::nn::Module& network) {
  std::map<std::string, StoredTensor> weights;
  for (const auto& [name, tensor] : TensorsOf(network)) {
    weights[name] = ToStored(tensor);
  }
  return weights;
}

void LoadWeights(const std::map<std::string, StoredTensor>& weights,
                 const std::string& origin, torch::nn::Module& network) {
  const at::NoGradGuard no_gradients;
  std::size_t used = 0;
  for (auto& [name, tensor] : TensorsOf(network)) {
    const auto found = weights.find(name);
    if (found == weights.end()) {
      throw Corrupt("{}: no tensor '{}'", origin, name);
    }
    const StoredTensor expected{.dtype = ToStored(tensor.new_empty({0})).dtype,
                                .shape = tensor.sizes().vec()};
    if (found->second.dtype != expected.dtype ||
        found->second.shape != expected.shape) {
      throw Corrupt("{}: tensor '{}' is {}[{}], expected {}[{}]", origin, name,
                    found->second.dtype, fmt::join(found->second.shape, ","),
                    expected.dtype, fmt::join(expected.shape, ","));
    }
    tensor.copy_(ToTensor(found->second));
    ++used;
  }
  if (used != weights.size()) {
    throw Corrupt("{}: has {}, the network {}", origin,
                  Counted(weights.size(), "tensor"), used);
  }
}

std::shared_ptr<Network> RestoreNetwork(
    const NetworkOptions& options,
    const std::map<std::string, StoredTensor>& weights,
    const std::string& origin) {
  CheckSizes(options, weights, origin);
  std::shared_ptr<Network> network;
  try {
    network = MakeNetwork(options);
  } catch (const Error& error) {
    throw Corrupt("{}: {}", origin, error.what());
  }
  LoadWeights(weights, origin, *network);
  network->eval();
  return network;
}

}  // namespace foretell::learned
