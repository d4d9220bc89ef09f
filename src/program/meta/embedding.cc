// Embedding tables.

#include <array>

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

constexpr std::int64_t kModeSum = 0;
constexpr std::int64_t kModeMax = 2;

void EmbeddingBackward(Call& call) {
  const at::Tensor& grad = call.Tensor("grad_output");
  const std::array<std::int64_t, 2> sizes = {call.Int("num_weights"),
                                             grad.size(-1)};
  call.Return(Contiguous(sizes, grad.scalar_type()));
}

std::int64_t NumBags(const Call& call) {
  const std::int64_t offsets = call.Tensor("offsets").size(0);
  return call.Bool("include_last_offset", false) ? offsets - 1 : offsets;
}

// Sums, means or maxima of bags of rows. Results: the bags, the bag of every
// index, the bags' sizes, and the winners' places (for a maximum).
void EmbeddingBag(Call& call) {
  const at::Tensor& weight = call.Tensor("weight");
  const at::Tensor& indices = call.Tensor("indices");
  const at::ScalarType index_type = indices.scalar_type();
  const std::int64_t bags = NumBags(call);
  const std::int64_t mode = call.Int("mode", kModeSum);
  const Sizes result = {bags, weight.size(1)};
  call.Return(Contiguous(result, weight.scalar_type()));
  call.Return(Contiguous(indices.sizes(), index_type));
  call.Return(Contiguous(Sizes{bags}, index_type));
  call.Return(Contiguous(mode == kModeMax ? result : Sizes{0}, index_type));
}

void EmbeddingBagBackward(Call& call) {
  const at::Tensor& grad = call.Tensor("grad");
  const std::array<std::int64_t, 2> sizes = {call.Int("num_weights"),
                                             grad.size(1)};
  call.Return(Contiguous(sizes, grad.scalar_type()));
}

void EmbeddingBagWeightsBackward(Call& call) {
  call.Return(Contiguous(call.Tensor("indices").sizes(),
                         call.Tensor("grad").scalar_type()));
}

constexpr KernelRow kEmbeddingKernels[] = {
    {"embedding_dense_backward", EmbeddingBackward},
    {"_embedding_bag", EmbeddingBag},
    {"_embedding_bag_forward_only", EmbeddingBag},
    {"_embedding_bag_backward", EmbeddingBagBackward},
    {"_embedding_bag_dense_backward", EmbeddingBagBackward},
    {"_embedding_bag_per_sample_weights_backward", EmbeddingBagWeightsBackward},
};

}  // namespace

std::span<const KernelRow> EmbeddingKernels() { return kEmbeddingKernels; }

}  // namespace foretell::meta
