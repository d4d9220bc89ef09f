#include "src/kernels/node_operands.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "src/graph/shared_storage.h"

namespace foretell::cost {
namespace {

/// Kinds whose operators return their input itself when nothing is to do.
bool MayDoNothing(OpKind kind) {
  return kind == OpKind::kView || kind == OpKind::kCopy ||
         kind == OpKind::kCast || kind == OpKind::kDropout ||
         kind == OpKind::kPad || kind == OpKind::kEinsum;
}

/// Kinds whose operands that are not floating-point numbers are indices.
bool HasIndexOperands(OpKind kind) {
  return kind == OpKind::kEmbedding || kind == OpKind::kGather ||
         kind == OpKind::kScatter;
}

}  // namespace

bool IsAlias(const OperatorGraph& graph, const Node& node) {
  if (!MayDoNothing(node.kind)) return false;
  const bool in_place = node.target.ends_with('_');
  if (in_place && node.kind != OpKind::kView) return false;
  return std::ranges::all_of(node.outputs, [&](ValueId output) {
    return LiesInOperand(graph, node, output);
  });
}

std::vector<ValueId> ReadOperands(const OperatorGraph& graph,
                                  const Node& node) {
  std::vector<ValueId> distinct;
  for (const ValueId input : node.inputs) {
    if (std::ranges::find(distinct, input) == distinct.end()) {
      distinct.push_back(input);
    }
  }
  if (!HasIndexOperands(node.kind)) return distinct;
  std::vector<ValueId> data;
  std::ranges::copy_if(distinct, std::back_inserter(data), [&](ValueId id) {
    return IsFloatingPoint(graph.value(id).type.dtype);
  });
  return data.empty() ? distinct : data;
}

}  // namespace foretell::cost
