// Kernels that an operator launches in addition to its own. PyTorch launches
// them without a call to the dispatcher, so no trace records them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/graph/attributes.h"
#include "src/graph/convolution.h"
#include "src/kernels/expansion.h"

namespace foretell::cost {
namespace {

constexpr std::size_t kBias = 2;

/// What becomes of the bias of a linear layer
/// (aten/src/ATen/native/Linear.cpp, cuda/Blas.cpp). ONNX Runtime's Gemm fills
/// the result with it (BroadcastBiasKernel in cuda/math/gemm.cc).
enum class BiasKernel : std::uint8_t {
  kNone,  ///< The product adds it.
  kCopy,  ///< It fills the result, to which the product is added.
  kAdd,   ///< It is added to the product.
};

/// The first version that flattens sequences, so that their layers are products
/// of matrices with a bias; the first whose binaries were all built with CUDA
/// 11.4 or later, without which such a product does not add it; the first that
/// flattens any rank (PyTorch's pull requests 74070, 71200, 106433).
constexpr TorchVersion kFlattensSequences = {.major = 1, .minor = 12};
constexpr TorchVersion kProductAddsBias = {.major = 1, .minor = 13};
constexpr TorchVersion kFlattensAll = {.major = 2, .minor = 1};
constexpr std::size_t kSequenceRank = 3;

/// `addmm` has its bias first, `linear` last.
std::size_t BiasPlace(const Node& node) {
  return node.target == "addmm" ? 0 : kBias;
}

/// TensorRT's products add their bias themselves.
bool AddsBiasInside(const Expansion& expansion) {
  return expansion.graph.info().runtime.runtime == Runtime::kTensorRt;
}

BiasKernel BiasKernelOf(const Expansion& expansion, const Node& node) {
  if (node.inputs.size() != kBias + 1 || AddsBiasInside(expansion)) {
    return BiasKernel::kNone;
  }
  const bool is_linear = node.target == "addmm" || node.target == "linear";
  if (!is_linear) return BiasKernel::kNone;
  if (expansion.graph.info().runtime.runtime == Runtime::kOnnxRuntime) {
    return BiasKernel::kCopy;
  }
  const ValueId first = node.inputs.front();
  const std::size_t rank = expansion.tensors.ShapeOf(first).size();
  const TorchVersion& torch = expansion.mode.torch;
  const BiasKernel of_matrices =
      torch < kProductAddsBias ? BiasKernel::kCopy : BiasKernel::kNone;
  if (node.target == "addmm") {
    return rank == 1 ? of_matrices : BiasKernel::kNone;
  }
  const bool flattens =
      expansion.tensors.IsContiguous(first) &&
      torch >= (rank <= kSequenceRank ? kFlattensSequences : kFlattensAll);
  return rank <= 2 || flattens ? of_matrices : BiasKernel::kAdd;
}

/// Takes the bias out of what `product` reads; where it fills the result
/// before, the product reads that.
void ExpandBiasBefore(Expansion& expansion, const ExpandedNode& expanded,
                      Kernel& product) {
  const BiasKernel how = BiasKernelOf(expansion, expanded.node);
  if (how == BiasKernel::kNone) return;
  const Tensors& tensors = expansion.tensors;
  const ValueId bias = expanded.node.inputs[BiasPlace(expanded.node)];
  Kernel copy = {.kernel_class = KernelClass::kCopy,
                 .node = product.node,
                 .bytes_out = product.bytes_out,
                 .element_bytes_in = tensors.ElementBytes(bias),
                 .element_bytes_out = product.element_bytes_out,
                 .inner_extent = product.n,
                 .mixed_layouts = product.m > 1};
  CountRead(tensors, bias, copy);
  product.bytes_in -= copy.bytes_in;
  product.bytes_weight -= copy.bytes_weight;
  if (how == BiasKernel::kAdd) return;
  expansion.kernels.push_back(copy);
  product.bytes_in += product.bytes_out;
}

/// Padding with a constant fills the result and copies the input into it;
/// cutting copies alone.
void ExpandFilling(Expansion& expansion, const ExpandedNode& expanded,
                   Kernel& padding) {
  if (!PadsWithConstant(expanded.node) ||
      padding.bytes_out <= padding.bytes_in) {
    return;
  }
  expansion.kernels.push_back({.kernel_class = KernelClass::kFill,
                               .node = padding.node,
                               .bytes_out = padding.bytes_out,
                               .element_bytes_in = padding.element_bytes_out,
                               .element_bytes_out = padding.element_bytes_out});
  padding.bytes_out = padding.bytes_in;
}

/// Whether a batch or instance norm computes the statistics of its input.
bool ComputesStatistics(const Node& node) {
  if (node.kind == OpKind::kInstanceNorm) {
    return FlagOf(node, "use_input_stats");
  }
  return node.kind == OpKind::kBatchNorm &&
         (FlagOf(node, "training") || FlagOf(node, "train"));
}

/// Such a norm reads its input once more, for the statistics.
void ExpandStatistics(Expansion& expansion, const ExpandedNode& expanded,
                      Kernel& norm) {
  if (!ComputesStatistics(expanded.node)) return;
  norm.variant = true;
  Kernel statistics = norm;
  statistics.bytes_weight = 0;
  statistics.bytes_out = 0;
  expansion.kernels.push_back(statistics);
}

bool IsNamed(const OperatorGraph& graph, ValueId id, std::string_view prefix) {
  return graph.value(id).name.starts_with(prefix);
}

}  // namespace

bool PadsWithConstant(const Node& node) {
  if (node.target == "constant_pad_nd") return true;
  const auto* const mode = std::get_if<std::string>(node.FindAttribute("mode"));
  return node.target == "pad" && (mode == nullptr || *mode == "constant");
}

/// The gradient of a softmax is that of its operands' product, a tensor
/// (softmax_backward_cuda_out in aten/src/ATen/native/cuda/SoftMax.cu).
void ExpandProduct(Expansion& expansion, const ExpandedNode& expanded) {
  const Node& node = expanded.node;
  if (node.target != "_softmax_backward_data" || node.inputs.size() < 2) return;
  const Tensors& tensors = expansion.tensors;
  const ValueId gradient = node.inputs[0];
  const std::int64_t width = tensors.ElementBytes(gradient);
  expansion.kernels.push_back(
      {.kernel_class = KernelClass::kMultiply,
       .node = expanded.id,
       .bytes_in = tensors.Bytes(gradient) + tensors.Bytes(node.inputs[1]),
       .bytes_out = tensors.Bytes(gradient),
       .element_bytes_in = width,
       .element_bytes_out = width,
       .inner_extent = LastOf(tensors.ShapeOf(gradient))});
}

void ExpandBefore(Expansion& expansion, const ExpandedNode& expanded,
                  Kernel& kernel) {
  ExpandStatistics(expansion, expanded, kernel);
  ExpandFilling(expansion, expanded, kernel);
  ExpandBiasBefore(expansion, expanded, kernel);
  ExpandProduct(expansion, expanded);
}

bool IsBiasedConvolution(const Node& node) {
  return IsForwardConvolution(node.kind) && node.inputs.size() > kBias;
}

/// PyTorch adds the bias of a convolution that cuDNN computes to the result, in
/// place (aten/src/ATen/native/Convolution.cpp); its own depthwise kernel adds
/// it on the way.
void ExpandBias(Expansion& expansion, const ExpandedNode& expanded,
                const Kernel& product) {
  const bool adds =
      IsBiasedConvolution(expanded.node)
          ? product.kernel_class != KernelClass::kNativeDepthwise
          : BiasKernelOf(expansion, expanded.node) == BiasKernel::kAdd;
  if (!adds || AddsBiasInside(expansion)) return;
  const Tensors& tensors = expansion.tensors;
  const ValueId bias = expanded.node.inputs[kBias];
  Kernel addition = {.kernel_class = KernelClass::kAdd,
                     .node = product.node,
                     .bytes_in = product.bytes_out,
                     .bytes_out = product.bytes_out,
                     .element_bytes_in = product.element_bytes_out,
                     .element_bytes_out = product.element_bytes_out,
                     .inner_extent = LastOf(tensors.ShapeOf(expanded.result())),
                     .channels_last = product.channels_last,
                     .variant = true};
  CountRead(tensors, bias, addition);
  expansion.kernels.push_back(addition);
}

/// The norm that the exporter folded away reads and writes what the
/// convolution returns.
void ExpandFoldedNorm(Expansion& expansion, const Kernel& convolution) {
  expansion.kernels.push_back(
      {.kernel_class = KernelClass::kFoldedBatchNorm,
       .node = convolution.node,
       .bytes_in = convolution.bytes_out,
       .bytes_out = convolution.bytes_out,
       .positions = convolution.positions,
       .channels_in = convolution.channels_out,
       .channels_out = convolution.channels_out,
       .element_bytes_in = convolution.element_bytes_out,
       .element_bytes_out = convolution.element_bytes_out,
       .inner_extent = convolution.positions,
       .channels_last = convolution.channels_last});
}

bool HasFoldedNorm(const OperatorGraph& graph, const Node& node) {
  if (!IsBiasedConvolution(node)) return false;
  // ONNX Runtime runs the file as it is, or folds the norm itself.
  if (graph.info().runtime.runtime == Runtime::kOnnxRuntime) return false;
  const ValueId weight = BeforeAutocast(graph, node.inputs[1]);
  const ValueId bias = BeforeAutocast(graph, node.inputs[kBias]);
  constexpr std::string_view kAnonymous = "onnx::Conv";
  const bool both_anonymous =
      IsNamed(graph, weight, kAnonymous) && IsNamed(graph, bias, kAnonymous);
  return both_anonymous ||
         graph.value(bias).name == graph.value(weight).name + "_bias";
}

}  // namespace foretell::cost
