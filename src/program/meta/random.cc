// Random numbers: on meta only their shapes count.

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

void LikeDrawn(Call& call) { ReturnLikeFirst(call); }

void Multinomial(Call& call) {
  Sizes sizes = call.Tensor("self").sizes().vec();
  TORCH_CHECK(!sizes.empty() && sizes.size() <= 2,
              "multinomial: the input has rank ", sizes.size(),
              ", expected 1 or 2");
  sizes.back() = call.Int("num_samples");
  call.Return(Contiguous(sizes, at::kLong));
}

void Permutation(Call& call) {
  call.Return(Contiguous(Sizes{call.Int("n")},
                         call.DType("dtype").value_or(at::kLong)));
}

void Binomial(Call& call) {
  ReturnPointwise(call, {call.Tensor("count"), call.Tensor("prob")});
}

void GradientOfPair(Call& call) { ReturnPointwise(call, call.ReadTensors()); }

constexpr KernelRow kRandomKernels[] = {
    {"multinomial", Multinomial},
    {"randperm", Permutation},
    {"bernoulli", LikeDrawn},
    {"poisson", LikeDrawn},
    {"binomial", Binomial},
    {"_standard_gamma", LikeDrawn},
    {"_standard_gamma_grad", GradientOfPair},
    {"_sample_dirichlet", LikeDrawn},
    {"_dirichlet_grad", GradientOfPair},
};

}  // namespace

std::span<const KernelRow> RandomKernels() { return kRandomKernels; }

}  // namespace foretell::meta
