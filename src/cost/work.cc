#include "src/cost/work.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "src/cost/kind_table.h"

namespace foretell::cost {
namespace {

/// Tensors that one launch of a multi-tensor optimizer kernel covers.
constexpr double kTensorsPerForeachLaunch = 64;

double BytesOf(const OperatorGraph& graph, ValueId id) {
  const Value& value = graph.value(id);
  const double bytes = static_cast<double>(value.type.Bytes());
  if (value.storage == kNone) return bytes;
  return std::min(bytes,
                  static_cast<double>(graph.storage(value.storage).bytes));
}

double Elements(const OperatorGraph& graph, const std::vector<ValueId>& ids) {
  double most = 0;
  for (const ValueId id : ids) {
    most =
        std::max(most, static_cast<double>(graph.value(id).type.NumElements()));
  }
  return most;
}

bool SharesStorage(const OperatorGraph& graph, const Node& node,
                   ValueId output) {
  const StorageId storage = graph.value(output).storage;
  return std::ranges::any_of(node.inputs, [&](ValueId input) {
    return storage != kNone && graph.value(input).storage == storage;
  });
}

/// Kinds whose operators return their input itself when nothing is to do.
bool MayDoNothing(OpKind kind) {
  return kind == OpKind::kView || kind == OpKind::kCopy ||
         kind == OpKind::kCast || kind == OpKind::kDropout ||
         kind == OpKind::kPad;
}

/// Kinds that read as much of their inputs as they return, not all of it.
bool ReadsOnlyWhatItReturns(OpKind kind) {
  return kind == OpKind::kEmbedding || kind == OpKind::kGather;
}

/// Kinds whose operands that are no floating-point numbers say where to look.
bool HasIndexOperands(OpKind kind) {
  return kind == OpKind::kEmbedding || kind == OpKind::kGather ||
         kind == OpKind::kScatter;
}

double BytesRead(const OperatorGraph& graph, const Node& node, double written) {
  double read = 0;
  for (const ValueId input : ReadOperands(graph, node)) {
    const double bytes = BytesOf(graph, input);
    read +=
        ReadsOnlyWhatItReturns(node.kind) ? std::min(bytes, written) : bytes;
  }
  return read;
}

}  // namespace

bool IsAlias(const OperatorGraph& graph, const Node& node) {
  if (!MayDoNothing(node.kind)) return false;
  const bool in_place = node.target.ends_with('_');
  if (in_place && node.kind != OpKind::kView) return false;
  return std::ranges::all_of(node.outputs, [&](ValueId output) {
    return SharesStorage(graph, node, output);
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

Work WorkOf(const OperatorGraph& graph, const Node& node) {
  if (IsAlias(graph, node)) return {.has_kernel = false};
  const KindCost& kind = CostOf(node.kind);
  Work work{.kernels = kind.kernels};
  for (const ValueId output : node.outputs) {
    work.bytes_written += BytesOf(graph, output);
  }
  const bool overwrites =
      node.kind == OpKind::kFill || node.kind == OpKind::kRandom;
  if (!overwrites) {
    work.bytes_read = BytesRead(graph, node, work.bytes_written);
  }
  const double elements =
      std::max(Elements(graph, node.inputs), Elements(graph, node.outputs));
  work.flops =
      2 * static_cast<double>(node.macs) + elements * kind.flops_per_element;
  if (node.kind == OpKind::kOptimizerUpdate) {
    const double tensors =
        static_cast<double>(std::max(node.inputs.size(), node.outputs.size()));
    work.kernels = std::max(
        1, static_cast<int>(std::ceil(tensors / kTensorsPerForeachLaunch)));
  }
  return work;
}

}  // namespace foretell::cost
