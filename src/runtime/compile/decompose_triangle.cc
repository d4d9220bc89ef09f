#include "src/runtime/compile/decompose_triangle.h"

#include <cstdint>
#include <utility>

// tril and triu of torch/_refs (PyTorch 2.13): a comparison of the numbers of
// columns and rows says which elements stay.

namespace foretell::runtime {
namespace {

/// 0, 1, … as a tensor of two dimensions, of which `dim` is new.
ValueId Numbers(PrimitiveEmitter& emitter, std::int64_t count, Shape shape,
                std::int64_t dim) {
  const ValueId numbers =
      emitter.Emit("arange", {}, {DType::kI64, {count}},
                   {{"start", std::int64_t{0}}, {"end", count}});
  return emitter.View(numbers, {DType::kI64, std::move(shape)}, "unsqueeze",
                      {{"dim", dim}});
}

}  // namespace

bool DecomposeTriangle(PrimitiveEmitter& emitter, const Node& node) {
  if (node.target != "tril" && node.target != "triu") return false;
  const TensorType& type = emitter.graph().value(node.outputs[0]).type;
  const std::int64_t width = type.shape.back();
  const std::int64_t height = type.shape[type.shape.size() - 2];
  const ValueId columns = Numbers(emitter, width, {1, width}, -2);
  const ValueId rows = Numbers(emitter, height, {height, 1}, -1);
  const ValueId difference =
      emitter.Emit("sub", {columns, rows}, {DType::kI64, {height, width}});
  const ValueId stays =
      emitter.Emit(node.target == "tril" ? "le" : "ge", {difference},
                   {DType::kBool, {height, width}}, node.attributes);
  const bool is_mask = type.dtype == DType::kBool;
  emitter.Set(node.outputs[0],
              emitter.Emit(is_mask ? "logical_and" : "where",
                           {stays, emitter.Now(node.inputs[0])}, type));
  return true;
}

}  // namespace foretell::runtime
