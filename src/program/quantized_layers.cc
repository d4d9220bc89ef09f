#include "src/program/quantized_layers.h"

#include <algorithm>
#include <map>
#include <optional>

#include "src/core/failure.h"
#include "src/program/name_pattern.h"
#include "src/program/weighted_operators.h"

namespace foretell {
namespace {

/// What reads one matrix.
struct MatrixReaders {
  std::string name;
  NodeId last_product = kNone;
  bool has_others = false;
};

/// By storage: the parameters of two dimensions.
std::map<StorageId, MatrixReaders> MatricesOf(const OperatorGraph& graph) {
  std::map<StorageId, MatrixReaders> matrices;
  for (const Value& value : graph.values()) {
    if (value.producer != kNone || value.type.shape.size() != 2) continue;
    if (graph.storage(value.storage).role != TensorRole::kParameter) continue;
    matrices[value.storage].name = value.name;
  }
  return matrices;
}

/// The input of `node` that is its matrix; empty if it is not a product.
std::optional<ValueId> WeightOf(const Node& node) {
  const WeightedOperator* const row =
      WeightedOperatorNamed("aten::" + node.target);
  if (row == nullptr || row->kind != WeightUse::kProduct) return std::nullopt;
  if (row->weight >= node.inputs.size()) return std::nullopt;
  return node.inputs[row->weight];
}

void NoteReads(const OperatorGraph& graph, NodeId id,
               std::map<StorageId, MatrixReaders>& matrices) {
  const Node& node = graph.node(id);
  if (node.kind == OpKind::kView) return;
  const std::optional<ValueId> weight = WeightOf(node);
  for (const ValueId input : node.inputs) {
    const auto found = matrices.find(graph.value(input).storage);
    if (found == matrices.end()) continue;
    if (input == weight) {
      found->second.last_product = id;
    } else {
      found->second.has_others = true;
    }
  }
}

std::map<StorageId, MatrixReaders> ReadMatrices(const OperatorGraph& graph) {
  std::map<StorageId, MatrixReaders> matrices = MatricesOf(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    NoteReads(graph, id, matrices);
  }
  return matrices;
}

NodeId LastProduct(const std::map<StorageId, MatrixReaders>& matrices) {
  NodeId last = kNone;
  for (const auto& [storage, readers] : matrices) {
    last = std::max(last, readers.last_product);
  }
  return last;
}

}  // namespace

std::string LastLayer(const OperatorGraph& graph) {
  const std::map<StorageId, MatrixReaders> matrices = ReadMatrices(graph);
  const NodeId last = LastProduct(matrices);
  for (const auto& [storage, readers] : matrices) {
    if (last != kNone && readers.last_product == last) return readers.name;
  }
  return "";
}

std::set<std::string> LayersToQuantize(const OperatorGraph& graph,
                                       const QuantizeSpec& spec) {
  const std::map<StorageId, MatrixReaders> matrices = ReadMatrices(graph);
  const NodeId last = LastProduct(matrices);
  std::optional<NamePattern> skipped;
  if (!spec.skip.empty()) skipped.emplace(spec.skip);
  std::set<std::string> names;
  for (const auto& [storage, readers] : matrices) {
    if (readers.last_product == kNone || readers.has_others) continue;
    const bool is_kept = skipped ? skipped->IsFoundIn(readers.name)
                                 : readers.last_product == last;
    if (!is_kept) names.insert(readers.name);
  }
  if (!names.empty()) return names;
  throw InvalidArgument(
      "--quantize {}: the network has no linear layer to quantize, except its "
      "last",
      ToString(spec));
}

}  // namespace foretell
