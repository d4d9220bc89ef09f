#include <cstddef>
#include <string>
#include <utility>

#include "src/runtime/onnxruntime/passes.h"

// RemoveDuplicateCastTransformer (core/optimizer/insert_cast_transformer.cc),
// at every level: a cast to a wider type of the same group and back is nothing.
// A cast to a narrower one stays, since it rounds.
//
// onnxruntime.transformers.optimizer converts a file with keep_io_types=True
// (levels O4 of optimum, and --float16), so float32 results are cast back.

namespace foretell::runtime::ort {
namespace {

bool Widens(const Draft& draft, const DraftNode& cast) {
  const DType from = draft.TypeOf(cast.inputs[0]).dtype;
  const DType to = draft.TypeOf(cast.outputs[0]).dtype;
  return IsFloatingPoint(from) == IsFloatingPoint(to) && from != DType::kBool &&
         ByteWidth(to) > ByteWidth(from);
}

bool IsCast(const DraftNode& node) {
  return node.kind == OpKind::kCast && !node.inputs.empty() &&
         node.outputs.size() == 1;
}

void RemovePairs(Draft& draft) {
  const Uses uses(draft);
  for (const DraftNode& node : draft.nodes) {
    if (!IsCast(node)) continue;
    const std::ptrdiff_t at = uses.Producer(node.inputs[0]);
    if (at < 0) continue;
    const DraftNode& first = draft.nodes[static_cast<std::size_t>(at)];
    if (!IsCast(first) || !Widens(draft, first)) continue;
    const TensorId origin = first.inputs[0];
    if (draft.TypeOf(origin) != draft.TypeOf(node.outputs[0])) continue;
    Replace(draft, node.outputs[0], origin);
  }
  DropUnused(draft);
}

void KeepTypesOfResults(Draft& draft) {
  for (TensorId& id : draft.outputs) {
    TensorType type = draft.TypeOf(id);
    if (type.dtype != DType::kF16) continue;
    type.dtype = DType::kF32;
    const TensorId cast = draft.AddTensor(std::move(type));
    draft.nodes.push_back(MakeNode("_to_copy", {id}, cast, {}));
    id = cast;
  }
}

}  // namespace

void ChangeCasts(Draft& draft, OrtLevel level) {
  RemovePairs(draft);
  if (level == OrtLevel::kTransformers &&
      draft.graph->info().precision == Precision::kFp16) {
    KeepTypesOfResults(draft);
  }
}

}  // namespace foretell::runtime::ort
