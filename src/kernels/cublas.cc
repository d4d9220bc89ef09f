#include "src/kernels/cublas.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "src/graph/recurrent_layer.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {
namespace {

/// Products of which PyTorch has kernels of its own
/// (ATen/native/cuda/int8mm.cu, int4mm.cu, GroupMM.cu), a Triton kernel of
/// GPTQ's layers, those of sparse matrices, which cuSPARSE computes, and
/// TransformerEngine's, which has a handle and a workspace of its own.
constexpr auto kOtherProducts = std::to_array<std::string_view>({
    "_grouped_mm",
    "_scaled_grouped_mm",
    "_scaled_grouped_mm_v2",
    "_sparse_addmm",
    "_sparse_mm",
    "_weight_int4pack_mm",
    "_weight_int8pack_mm",
    "gptq::quant_matmul",
    "hspmm",
    "smm",
    "sspaddmm",
    "transformer_engine::gemm",
});

bool IsProduct(const Kernel& kernel) {
  return kernel.macs > 0 && (kernel.kernel_class == KernelClass::kLinear ||
                             kernel.kernel_class == KernelClass::kMatmul ||
                             kernel.kernel_class == KernelClass::kFloatMatmul);
}

bool IsLeftToCublas(const Node& node) {
  return !IsRecurrentLayer(node) &&
         std::ranges::find(kOtherProducts, node.target) == kOtherProducts.end();
}

}  // namespace

std::vector<bool> CublasNodes(const OperatorGraph& graph, const Run& run) {
  std::vector<bool> nodes(graph.nodes().size(), false);
  for (const Kernel& kernel : ExpandKernels(graph, run)) {
    if (IsProduct(kernel) && IsLeftToCublas(graph.node(kernel.node))) {
      nodes[static_cast<std::size_t>(kernel.node)] = true;
    }
  }
  return nodes;
}

}  // namespace foretell::cost
