#include "src/kernels/operand_copies.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ranges>
#include <string>
#include <string_view>

#include "src/graph/convolution.h"

// Which layout an operator needs of its operands, and what it copies first.
// The graph records how they lie. Read off PyTorch's sources (2.8 to 2.11,
// aten/src/ATen/native): `contiguous` in Convolution.cpp, cudnn/ConvShared.cpp,
// cuda/layer_norm_kernel.cu, cuda/SoftMax.cu, cuda/Embedding.cu and
// group_norm.cpp; prepare_matrix_for_cublas and
// prepare_batch_matrix_for_cublas in cuda/Blas.cpp; the folds of `matmul` in
// LinearAlgebra.cpp.

namespace foretell::cost {
namespace {

using CopyList = std::vector<OperandCopy>;

struct CopyingNode {
  const OperatorGraph& graph;
  const Node& node;
  const Run& run;
  const Tensors& tensors;
};

/// The operand whose layout decides: the first that is not a weight.
ValueId DecidingOperand(const CopyingNode& at) {
  const std::vector<ValueId>& inputs = at.node.inputs;
  const auto found = std::ranges::find_if_not(
      inputs, [&](ValueId id) { return at.tensors.IsWeight(id); });
  return found == inputs.end() ? inputs.front() : *found;
}

CopyList UnlessContiguous(const CopyingNode& at, ValueId id,
                          bool traced = false) {
  if (at.tensors.IsContiguous(id)) return {};
  return {{id, traced}};
}

CopyList Main(const CopyingNode& at) {
  return UnlessContiguous(at, DecidingOperand(at));
}

CopyList TracedMain(const CopyingNode& at) {
  return UnlessContiguous(at, DecidingOperand(at), true);
}

/// Of the gradient alone.
CopyList First(const CopyingNode& at) {
  return UnlessContiguous(at, at.node.inputs.front());
}

/// Of the gradient and what was saved.
CopyList FirstTwo(const CopyingNode& at) {
  CopyList copies = First(at);
  if (at.node.inputs.size() < 2) return copies;
  const CopyList saved = UnlessContiguous(at, at.node.inputs[1]);
  copies.insert(copies.end(), saved.begin(), saved.end());
  return copies;
}

bool FitsConvolution(const CopyingNode& at, const Convolution& convolution,
                     ValueId id) {
  return convolution.channels_last ? FitsChannelsLast(at.tensors.ShapeOf(id),
                                                      at.tensors.StridesOf(id))
                                   : at.tensors.IsContiguous(id);
}

CopyList OfConvolution(const CopyingNode& at) {
  const auto convolution = ConvolutionOf(at.graph, at.node);
  const ValueId input = DecidingOperand(at);
  if (!convolution || FitsConvolution(at, *convolution, input)) return {};
  return {{input}};
}

/// The gradient, and the input where the gradient of the weight is wanted.
CopyList OfConvolutionGradient(const CopyingNode& at) {
  const auto convolution = ConvolutionOf(at.graph, at.node);
  if (!convolution) return {};
  CopyList copies;
  const std::size_t count = WantedGradientsOf(at.node).weight ? 2 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const ValueId id = at.node.inputs[i];
    if (!FitsConvolution(at, *convolution, id)) copies.push_back({id});
  }
  return copies;
}

/// Rows that do not fold are multiplied as a batch of matrices, but where a
/// gradient of the weight is wanted (PyTorch's pull requests 73115 and 76828).
constexpr TorchVersion kMultipliesBatches = {.major = 1, .minor = 12};

/// Dimensions before the last must fold into rows, or be a batch of matrices.
CopyList OfLinear(const CopyingNode& at) {
  const ValueId input = DecidingOperand(at);
  const Shape& shape = at.tensors.ShapeOf(input);
  const Strides strides = at.tensors.StridesOf(input);
  if (shape.size() <= 2) return {};
  const bool records = at.run.mode == Mode::kTraining || at.run.grad_mode;
  const bool takes_batches = at.run.torch >= kMultipliesBatches && !records;
  const Shape rows = {ProductBefore(shape, 1), shape.back()};
  const bool fits = ViewStrides(shape, strides, rows).has_value() ||
                    (takes_batches && FitsABatchedProduct(shape, strides));
  if (fits) return {};
  return {{input, true}};
}

/// Those of both factors, behind what `addmm` and its like add, that are not a
/// batch of matrices. `matmul` folds the batch before the product of cuBLAS
/// looks at the matrices.
CopyList OfMatmul(const CopyingNode& at) {
  CopyList copies;
  const std::size_t added = at.node.target.find("add") != std::string::npos;
  for (const ValueId id :
       at.node.inputs | std::views::drop(added) | std::views::take(2)) {
    const Shape& shape = at.tensors.ShapeOf(id);
    const Strides strides = at.tensors.StridesOf(id);
    if (FitsABatchedProduct(shape, strides)) continue;
    copies.push_back({id, shape.size() > 2 && !FoldsABatch(shape, strides)});
  }
  return copies;
}

struct KindRule {
  OpKind kind;
  CopyList (*copies)(const CopyingNode&);
};

constexpr KindRule kKindRules[] = {
    {OpKind::kConvolution, &OfConvolution},
    {OpKind::kTransposedConvolution, &OfConvolution},
    {OpKind::kConvolutionBackward, &OfConvolutionGradient},
    {OpKind::kLinear, &OfLinear},
    {OpKind::kMatmul, &OfMatmul},
    {OpKind::kLayerNorm, &Main},
    {OpKind::kRmsNorm, &Main},
    {OpKind::kGroupNorm, &TracedMain},
    {OpKind::kSoftmax, &Main},
    {OpKind::kSoftmaxBackward, &FirstTwo},
    {OpKind::kEmbeddingBackward, &First},
};

/// Poolings whose wrappers make images contiguous (AdaptiveMaxPooling2d.cu,
/// AdaptiveMaxPooling3d.cu, AdaptiveAveragePooling3d.cu).
bool IsContiguousPool(const Node& node) {
  constexpr std::string_view kNames[] = {"adaptive_max_pool",
                                         "adaptive_avg_pool3d"};
  return std::ranges::any_of(kNames, [&](std::string_view name) {
    return node.target.find(name) != std::string::npos;
  });
}

/// Backward operators read the gradient and the indices, and of the input the
/// shape alone.
CopyList OfContiguousPool(const CopyingNode& at) {
  constexpr std::size_t kShapeAlone = 1;
  CopyList copies;
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i) {
    if (i == kShapeAlone) continue;
    const CopyList one = UnlessContiguous(at, at.node.inputs[i]);
    copies.insert(copies.end(), one.begin(), one.end());
  }
  return copies;
}

/// Backward operators of norms whose wrappers do so.
constexpr std::array<std::string_view, 2> kCopyingNormGradients = {
    "native_layer_norm_backward", "_fused_rms_norm_backward"};

}  // namespace

std::vector<OperandCopy> OperandCopies(const OperatorGraph& graph,
                                       const Node& node, const Run& run) {
  if (node.inputs.empty()) return {};
  const Tensors tensors(graph);
  const CopyingNode at = {graph, node, run, tensors};
  if (std::ranges::count(kCopyingNormGradients, node.target) > 0) {
    return FirstTwo(at);
  }
  if (IsContiguousPool(node)) return OfContiguousPool(at);
  const auto* const rule =
      std::ranges::find(kKindRules, node.kind, &KindRule::kind);
  return rule == std::end(kKindRules) ? CopyList() : rule->copies(at);
}

std::vector<ValueId> CopiedResults(const OperatorGraph& graph,
                                   const Node& node) {
  if (!IsContiguousPool(node)) return {};
  std::vector<ValueId> copied;
  for (const ValueId id : node.outputs) {
    if (!Tensors(graph).IsContiguous(id)) copied.push_back(id);
  }
  return copied;
}

std::int64_t CopyBytes(const Tensors& tensors, ValueId id) {
  return NumElements(tensors.ShapeOf(id)) * tensors.ElementBytes(id);
}

}  // namespace foretell::cost
