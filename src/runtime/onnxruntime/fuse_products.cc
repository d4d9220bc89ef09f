#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/graph/attributes.h"
#include "src/graph/strides.h"
#include "src/runtime/onnxruntime/passes.h"

// Level "extended":
//
// MatmulTransposeFusion (core/optimizer/matmul_transpose_fusion.cc): a
// Transpose that swaps the last two dimensions and that only products read
// disappears into them (FusedMatMul, transA and transB).
//
// MatMulScaleFusion (matmul_scale_fusion.cc): a product or quotient by one
// constant number, before a product that alone reads it or after one, becomes
// the product's alpha.

namespace foretell::runtime::ort {
namespace {

bool IsProduct(const DraftNode& node) {
  return node.kind == OpKind::kMatmul ||
         (node.target == "linear" && node.inputs.size() == 2);
}

/// True for a Transpose of the last two dimensions.
bool SwapsLastTwo(const Draft& draft, const DraftNode& node) {
  if (node.kind != OpKind::kCopy || node.inputs.empty()) return false;
  const std::size_t rank = draft.TypeOf(node.inputs[0]).shape.size();
  if (rank < 2) return false;
  if (node.target == "t_copy") return rank == 2;
  const Node recorded = AsNode(node);
  if (node.target == "transpose_copy") {
    std::size_t dims[] = {DimOf(recorded, "dim0", rank).value_or(0),
                          DimOf(recorded, "dim1", rank).value_or(0)};
    return std::max(dims[0], dims[1]) == rank - 1 &&
           std::min(dims[0], dims[1]) == rank - 2;
  }
  if (node.target != "permute_copy") return false;
  const auto order = PermutationOf(recorded, "dims", rank);
  if (!order) return false;
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if ((*order)[i] != i) return false;
  }
  return (*order)[rank - 1] == rank - 2;
}

void ReadTransposed(Draft& draft) {
  const Uses uses(draft);
  std::vector<int> by_products(draft.tensors.size(), 0);
  for (const DraftNode& node : draft.nodes) {
    if (!IsProduct(node)) continue;
    for (const TensorId id : node.inputs) {
      ++by_products[static_cast<std::size_t>(id)];
    }
  }
  for (DraftNode& node : draft.nodes) {
    if (!SwapsLastTwo(draft, node)) continue;
    const TensorId result = node.outputs[0];
    const auto at = static_cast<std::size_t>(result);
    if (uses.Count(result) == 0 || uses.Count(result) != by_products[at]) {
      continue;
    }
    Strides strides = ContiguousStrides(draft.TypeOf(node.inputs[0]).shape);
    std::swap(strides.end()[-1], strides.end()[-2]);
    draft.tensors[at].strides = std::move(strides);
    node.target.resize(node.target.size() - std::string_view("_copy").size());
    node.kind = OpKind::kView;
    node.aliases = true;
  }
}

/// True for a product or quotient of one tensor and one constant number.
bool Scales(const Draft& draft, const DraftNode& node) {
  if (node.target != "mul" && node.target != "div") return false;
  if (!IsFloatingPoint(draft.TypeOf(node.outputs[0]).dtype)) return false;
  if (node.inputs.size() == 1) return true;
  return node.inputs.size() == 2 && draft.IsConstant(node.inputs[1]) &&
         draft.TypeOf(node.inputs[1]).NumElements() == 1;
}

void ScaleResults(Draft& draft) {
  const Uses uses(draft);
  for (DraftNode& node : draft.nodes) {
    if (!Scales(draft, node)) continue;
    const TensorId operand = node.inputs[0];
    const TensorId result = node.outputs[0];
    const std::ptrdiff_t producer = uses.Producer(operand);
    const std::ptrdiff_t reader = uses.SoleReader(result);
    const auto is_product = [&draft](std::ptrdiff_t at) {
      return at >= 0 && IsProduct(draft.nodes[static_cast<std::size_t>(at)]);
    };
    const bool follows = is_product(producer) && uses.SoleReader(operand) >= 0;
    if (follows) {
      draft.nodes[static_cast<std::size_t>(producer)].outputs = node.outputs;
    } else if (is_product(reader)) {
      Replace(draft, result, operand);
    } else {
      continue;
    }
    node.target.clear();
  }
}

}  // namespace

void FuseProducts(Draft& draft) {
  ReadTransposed(draft);
  ScaleResults(draft);
  DropUnused(draft);
}

}  // namespace foretell::runtime::ort
