#include <cstdint>

#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"

// Linear layers whose product does not add the bias
// (aten/src/ATen/native/Linear.cpp, cuda/Blas.cpp).

namespace foretell::cost {
namespace {

/// What becomes of a linear layer's bias.
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

BiasKernel BiasKernelOf(const CompositeSteps& steps, std::size_t rank) {
  const TorchVersion& torch = steps.torch();
  const bool flattens =
      steps.IsContiguous(0) &&
      torch >= (rank <= kSequenceRank ? kFlattensSequences : kFlattensAll);
  if (rank > 2 && !flattens) return BiasKernel::kAdd;
  return torch < kProductAddsBias ? BiasKernel::kCopy : BiasKernel::kNone;
}

/// The bias repeated for all rows of the operator's result, and the product of
/// `input` with the matrix `right` added to it.
void ReturnAddedToBias(CompositeSteps& steps, ValueId bias, ValueId input,
                       ValueId right) {
  const Shape shape = steps.result().shape;
  const ValueId sum =
      Elementwise(steps, "copy", {ExpandRows(steps, bias, shape)});
  const std::int64_t rows = ProductBefore(shape, 1);
  const ValueId product = steps.InPlace(
      "addmm_", {Reshape(steps, sum, {rows, steps.Size(sum, -1)}),
                 Reshape(steps, input, {rows, steps.Size(input, -1)}), right});
  steps.Return(Reshape(steps, product, shape));
}

/// Operands: input, weight and perhaps a bias.
bool LinearLayer(CompositeSteps& steps) {
  if (steps.num_operands() != 3) return false;
  const ValueId input = steps.Operand(0);
  switch (BiasKernelOf(steps, steps.RankOf(input))) {
    case BiasKernel::kNone:
      return false;
    case BiasKernel::kCopy:
      ReturnAddedToBias(steps, steps.Operand(2), input,
                        Transpose(steps, steps.Operand(1), 0, 1));
      return true;
    case BiasKernel::kAdd:
      const ValueId product = Linear(steps, input, steps.Operand(1));
      steps.Return(steps.InPlace("add_", {product, steps.Operand(2)}));
      return true;
  }
  return false;
}

/// Operands: what is added, and two matrices.
bool AddedProduct(CompositeSteps& steps) {
  const bool has_bias =
      steps.num_operands() == 3 && steps.RankOf(steps.Operand(0)) == 1;
  if (!has_bias || steps.torch() >= kProductAddsBias) return false;
  ReturnAddedToBias(steps, steps.Operand(0), steps.Operand(1),
                    steps.Operand(2));
  return true;
}

constexpr Composite kLinearComposites[] = {
    {"addmm", &AddedProduct},
    {"linear", &LinearLayer},
};

}  // namespace

std::span<const Composite> LinearComposites() { return kLinearComposites; }

}  // namespace foretell::cost
