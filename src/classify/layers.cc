#include "src/classify/layers.h"

#include <algorithm>
#include <array>
#include <set>

#include "src/core/name_table.h"
#include "src/features/static_features.h"

namespace foretell::classify {
namespace {

constexpr NameTable<kNumLayerKinds> kLayerNames = {
    "linear",     "convolution", "batch_norm", "other_norm", "dropout",
    "activation", "pooling",     "attention",  "embedding",  "softmax"};

constexpr NameTable<kNumActivationFunctions> kActivationNames = {
    "ELU",  "GELU", "Identity", "LeakyReLU", "Mish", "PReLU",
    "ReLU", "SELU", "SiLU",     "Softplus",  "Tanh"};

struct KindRow {
  OpKind op;
  LayerKind layer;
};

constexpr KindRow kLayerKinds[] = {
    {OpKind::kLinear, LayerKind::kLinear},
    {OpKind::kConvolution, LayerKind::kConvolution},
    {OpKind::kTransposedConvolution, LayerKind::kConvolution},
    {OpKind::kBatchNorm, LayerKind::kBatchNorm},
    {OpKind::kLayerNorm, LayerKind::kOtherNorm},
    {OpKind::kGroupNorm, LayerKind::kOtherNorm},
    {OpKind::kInstanceNorm, LayerKind::kOtherNorm},
    {OpKind::kRmsNorm, LayerKind::kOtherNorm},
    {OpKind::kDropout, LayerKind::kDropout},
    {OpKind::kRelu, LayerKind::kActivation},
    {OpKind::kGelu, LayerKind::kActivation},
    {OpKind::kSilu, LayerKind::kActivation},
    {OpKind::kSigmoid, LayerKind::kActivation},
    {OpKind::kTanh, LayerKind::kActivation},
    {OpKind::kHardActivation, LayerKind::kActivation},
    {OpKind::kOtherActivation, LayerKind::kActivation},
    {OpKind::kMaxPool, LayerKind::kPooling},
    {OpKind::kAveragePool, LayerKind::kPooling},
    {OpKind::kAttention, LayerKind::kAttention},
    {OpKind::kEmbedding, LayerKind::kEmbedding},
    {OpKind::kSoftmax, LayerKind::kSoftmax},
};

struct FunctionRow {
  std::string_view target;
  ActivationFunction function;
};

constexpr FunctionRow kFunctions[] = {
    {"elu", ActivationFunction::kElu},
    {"gelu", ActivationFunction::kGelu},
    {"leaky_relu", ActivationFunction::kLeakyRelu},
    {"mish", ActivationFunction::kMish},
    {"prelu", ActivationFunction::kPrelu},
    {"_prelu_kernel", ActivationFunction::kPrelu},
    {"relu", ActivationFunction::kRelu},
    {"selu", ActivationFunction::kSelu},
    {"silu", ActivationFunction::kSilu},
    {"softplus", ActivationFunction::kSoftplus},
    {"tanh", ActivationFunction::kTanh},
};

std::optional<LayerKind> KindOf(const OperatorGraph& graph, const Node& node) {
  if (IsDense(graph, node)) return LayerKind::kLinear;
  const auto* found = std::ranges::find(kLayerKinds, node.kind, &KindRow::op);
  if (found == std::end(kLayerKinds)) return std::nullopt;
  return found->layer;
}

std::int64_t ParametersOf(const OperatorGraph& graph, const Node& node) {
  std::set<StorageId> seen;
  std::int64_t elements = 0;
  for (const ValueId id : node.inputs) {
    const Value& value = graph.value(id);
    const bool is_parameter =
        graph.storage(value.storage).role == TensorRole::kParameter;
    if (is_parameter && seen.insert(value.storage).second) {
      elements += value.type.NumElements();
    }
  }
  return elements;
}

/// The name of the operator without the underscore of one in place.
std::string_view PlainTarget(const Node& node) {
  std::string_view target = node.target;
  if (target.ends_with('_')) target.remove_suffix(1);
  return target;
}

}  // namespace

std::string_view LayerKindName(LayerKind kind) {
  return NameIn(kLayerNames, kind);
}

std::optional<LayerKind> ParseLayerKind(std::string_view name) {
  return FindIn<LayerKind>(kLayerNames, name);
}

std::string_view ActivationName(ActivationFunction function) {
  return NameIn(kActivationNames, function);
}

std::optional<ActivationFunction> ParseActivation(std::string_view name) {
  return FindIn<ActivationFunction>(kActivationNames, name);
}

std::vector<Layer> LayersOf(const OperatorGraph& graph) {
  const std::int64_t batch = std::max<std::int64_t>(1, graph.info().batch);
  std::vector<Layer> layers;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward || node.outputs.empty()) continue;
    const std::optional<LayerKind> kind = KindOf(graph, node);
    if (!kind) continue;
    const Value& result = graph.value(node.outputs.front());
    layers.push_back({.kind = *kind,
                      .activations = result.type.NumElements() / batch,
                      .parameters = ParametersOf(graph, node)});
  }
  return layers;
}

ActivationFunction ActivationOf(const OperatorGraph& graph) {
  std::array<int, kNumActivationFunctions> counts = {};
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward) continue;
    const auto* found =
        std::ranges::find(kFunctions, PlainTarget(node), &FunctionRow::target);
    if (found == std::end(kFunctions)) continue;
    ++counts[static_cast<std::size_t>(found->function)];
  }
  const auto* most = std::ranges::max_element(counts);
  if (*most == 0) return ActivationFunction::kIdentity;
  return static_cast<ActivationFunction>(most - counts.begin());
}

}  // namespace foretell::classify
