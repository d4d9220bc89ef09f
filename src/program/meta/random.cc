// Random numbers: on meta only their shapes count.

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

void LikeFirst(Call& call) { ReturnLikeFirst(call); }

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

void Pairwise(Call& call) { ReturnPointwise(call, call.ReadTensors()); }

constexpr KernelRow kRows[] = {
    {"multinomial", Multinomial},
    {"randperm", Permutation},
    {"bernoulli", LikeFirst},
    {"poisson", LikeFirst},
    {"binomial", Binomial},
    {"_standard_gamma", LikeFirst},
    {"_standard_gamma_grad", Pairwise},
    {"_sample_dirichlet", LikeFirst},
    {"_dirichlet_grad", Pairwise},
};

}  // namespace

std::span<const KernelRow> RandomKernels() { return kRows; }

}  // namespace foretell::meta
