#include "src/program/layer_adapter.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "src/program/delta_adapter.h"
#include "src/program/name_pattern.h"
#include "src/program/rotation_adapter.h"

namespace foretell {
namespace {

LayerAdapter MakeLora(const LoraSpec& spec, const NamedTensor& parameter) {
  const at::Tensor& weight = parameter.tensor;
  std::vector<std::int64_t> narrow = weight.sizes().vec();
  narrow[0] = spec.rank;
  std::vector<std::int64_t> wide(narrow.size(), 1);
  wide[0] = weight.size(0);
  wide[1] = spec.rank;
  LayerAdapter adapter = {.name = parameter.name,
                          .weight = weight,
                          .narrow = MakeTrained(spec, weight, narrow),
                          .wide = MakeTrained(spec, weight, wide)};
  if (spec.dora) {
    adapter.magnitude = MakeTrained(spec, weight, {weight.size(0)});
  }
  return adapter;
}

LayerAdapter MakeIa3(const LoraSpec& spec, const NamedTensor& parameter) {
  const at::Tensor& weight = parameter.tensor;
  LayerAdapter adapter = {.name = parameter.name, .weight = weight};
  if (!spec.feedforward.empty() &&
      NamePattern(spec.feedforward).IsFoundIn(parameter.name)) {
    adapter.narrow = MakeTrained(spec, weight, {1, weight.size(1)});
  } else {
    adapter.wide = MakeTrained(spec, weight, {weight.size(0), 1});
  }
  return adapter;
}

/// VeRA's matrices, large enough for every one of `weights`.
LayerAdapter MakeShared(const LoraSpec& spec,
                        const std::vector<NamedTensor>& weights) {
  std::int64_t m = 0;
  std::int64_t n = 0;
  for (const NamedTensor& weight : weights) {
    m = std::max(m, weight.tensor.size(0));
    n = std::max(n, weight.tensor.size(1));
  }
  const at::Tensor& like = weights.front().tensor;
  return {
      .narrow =
          MakeTrained(spec, like, {spec.rank, n}).set_requires_grad(false),
      .wide = MakeTrained(spec, like, {m, spec.rank}).set_requires_grad(false)};
}

LayerAdapter MakeVera(const LoraSpec& spec, const NamedTensor& parameter,
                      const LayerAdapter& shared) {
  const at::Tensor& weight = parameter.tensor;
  return {.name = parameter.name,
          .weight = weight,
          .narrow = shared.narrow,
          .wide = shared.wide,
          .magnitude = MakeTrained(spec, weight, {weight.size(0)}),
          .low_scale = MakeTrained(spec, weight, {spec.rank})};
}

/// PEFT's name of an adapter's tensor.
struct AdapterName {
  AdapterMethod method;
  at::Tensor LayerAdapter::*tensor;
  const char* name;
};

constexpr AdapterName kAdapterNames[] = {
    {AdapterMethod::kLora, &LayerAdapter::narrow, ".lora_A"},
    {AdapterMethod::kLora, &LayerAdapter::wide, ".lora_B"},
    {AdapterMethod::kLora, &LayerAdapter::magnitude, ".lora_magnitude_vector"},
    {AdapterMethod::kIa3, &LayerAdapter::narrow, ".ia3_l"},
    {AdapterMethod::kIa3, &LayerAdapter::wide, ".ia3_l"},
    {AdapterMethod::kVera, &LayerAdapter::low_scale, ".vera_lambda_d"},
    {AdapterMethod::kVera, &LayerAdapter::magnitude, ".vera_lambda_b"},
};

LayerAdapter MakeParts(const LoraSpec& spec, const NamedTensor& parameter) {
  const at::Tensor& weight = parameter.tensor;
  LayerAdapter adapter = {.name = parameter.name, .weight = weight};
  using enum AdapterMethod;
  adapter.parts = spec.method == kLoHa   ? MakeLoHaParts(spec, weight)
                  : spec.method == kLoKr ? MakeLoKrParts(spec, weight)
                  : spec.method == kOft  ? MakeOftParts(spec, parameter)
                                         : MakeBoftParts(spec, parameter);
  return adapter;
}

LayerAdapter MakeAdapter(const LoraSpec& spec, const NamedTensor& parameter,
                         const LayerAdapter& shared) {
  switch (spec.method) {
    case AdapterMethod::kLora:
      return MakeLora(spec, parameter);
    case AdapterMethod::kIa3:
      return MakeIa3(spec, parameter);
    case AdapterMethod::kVera:
      return MakeVera(spec, parameter, shared);
    default:
      return MakeParts(spec, parameter);
  }
}

}  // namespace

at::Tensor MakeTrained(const LoraSpec& spec, const at::Tensor& like,
                       at::IntArrayRef shape) {
  at::Tensor tensor =
      at::empty(shape, like.options().dtype(ToScalarType(spec.type)));
  return tensor.set_requires_grad(true);
}

std::vector<LayerAdapter> MakeLayerAdapters(
    const LoraSpec& spec, const std::vector<NamedTensor>& weights,
    std::vector<NamedTensor>& parameters) {
  LayerAdapter shared;
  if (spec.method == AdapterMethod::kVera && !weights.empty()) {
    shared = MakeShared(spec, weights);
    parameters.push_back({"vera_A", shared.narrow});
    parameters.push_back({"vera_B", shared.wide});
  }
  std::vector<LayerAdapter> adapters;
  for (const NamedTensor& weight : weights) {
    adapters.push_back(MakeAdapter(spec, weight, shared));
    for (const AdapterName& row : kAdapterNames) {
      const at::Tensor& tensor = adapters.back().*row.tensor;
      if (row.method != spec.method || !tensor.defined()) continue;
      parameters.push_back({weight.name + row.name, tensor});
    }
    for (const NamedTensor& part : adapters.back().parts) {
      parameters.push_back({weight.name + part.name, part.tensor});
    }
  }
  return adapters;
}

}  // namespace foretell
