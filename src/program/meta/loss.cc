// Losses and their gradients.

#include <array>

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

bool IsReduced(const Call& call) {
  return call.Int("reduction", 1) != kNoReduction;
}

// A loss of two tensors, element by element, then perhaps reduced.
void Pairwise(Call& call) {
  const at::Tensor input = call.Tensor("self");
  if (IsReduced(call)) {
    call.Return(Contiguous(Sizes{}, input.scalar_type()));
  } else {
    ReturnPointwise(call, {input, call.Tensor("target")});
  }
}

void PairwiseBackward(Call& call) {
  ReturnPointwise(call, {call.Tensor("self"), call.Tensor("target")});
}

// CUDA shrinks the tensor of all losses to the scalar, whose storage therefore
// keeps its full size.
void BinaryCrossEntropy(Call& call) {
  const at::Tensor input = call.Tensor("self");
  at::Tensor out = call.NextOutput();
  if (!out.defined()) out = Allocate(Like(input));
  out.resize_(IsReduced(call) ? at::IntArrayRef{} : input.sizes());
  call.Return(out);
}

void LikeInput(Call& call) { call.Return(Like(call.Tensor("self"))); }

// nll_loss2d: the input [N, C, H, W] against classes [N, H, W].
void NllLoss2d(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const at::ScalarType dtype = input.scalar_type();
  TORCH_CHECK(input.dim() == 4, "nll_loss2d: the input has rank ", input.dim(),
              ", expected 4");
  const Sizes pixels = {input.size(0), input.size(2), input.size(3)};
  call.Return(Contiguous(IsReduced(call) ? Sizes{} : pixels, dtype));
  call.Return(Contiguous(Sizes{}, dtype));
}

// One loss per row of the input.
void MultiMargin(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const bool per_row = !IsReduced(call) && input.dim() == 2;
  call.Return(Contiguous(per_row ? Sizes{input.size(0)} : Sizes{},
                         input.scalar_type()));
}

void MultilabelMargin(Call& call) {
  MultiMargin(call);
  const at::Tensor& target = call.Tensor("target");
  call.Return(Contiguous(target.sizes(), call.Tensor("self").scalar_type()));
}

// log_probs [T, N, C]; the second result, log alpha, is [N, T, 2 S + 1] with
// S the longest target.
void CtcLoss(Call& call) {
  const at::Tensor& log_probs = call.Tensor("log_probs");
  const at::Tensor& targets = call.Tensor("targets");
  std::int64_t longest = targets.dim() == 2 ? targets.size(1) : 0;
  if (!call.IsTensor("target_lengths")) {
    longest = 0;
    for (const std::int64_t length : call.Ints("target_lengths")) {
      longest = std::max(longest, length);
    }
  }
  const std::int64_t batch = log_probs.dim() == 3 ? log_probs.size(1) : 1;
  const at::ScalarType dtype = log_probs.scalar_type();
  call.Return(Contiguous(Sizes{batch}, dtype));
  const std::array<std::int64_t, 3> alpha = {batch, log_probs.size(0),
                                             2 * longest + 1};
  call.Return(Contiguous(alpha, dtype));
}

// cuDNN's second result is the gradient itself.
void CudnnCtcLoss(Call& call) {
  const at::Tensor& log_probs = call.Tensor("log_probs");
  call.Return(Contiguous(Sizes{log_probs.size(1)}, log_probs.scalar_type()));
  call.Return(Like(log_probs));
}

void CtcLossBackward(Call& call) {
  const at::Tensor& log_probs = call.Tensor("log_probs");
  call.Return(Contiguous(log_probs.sizes(), log_probs.scalar_type()));
}

constexpr KernelRow kLossKernels[] = {
    {"huber_loss", Pairwise},
    {"huber_loss_backward", PairwiseBackward},
    {"binary_cross_entropy", BinaryCrossEntropy},
    {"binary_cross_entropy_backward", LikeInput},
    {"mse_loss_backward", PairwiseBackward},
    {"smooth_l1_loss_backward", PairwiseBackward},
    {"nll_loss2d_forward", NllLoss2d},
    {"nll_loss2d_backward", ReturnContiguousSelf},
    {"multi_margin_loss", MultiMargin},
    {"multi_margin_loss_backward", LikeInput},
    {"multilabel_margin_loss_forward", MultilabelMargin},
    {"multilabel_margin_loss_backward", LikeInput},
    {"_ctc_loss", CtcLoss},
    {"_cudnn_ctc_loss", CudnnCtcLoss},
    {"_ctc_loss_backward", CtcLossBackward},
};

}  // namespace

std::span<const KernelRow> LossKernels() { return kLossKernels; }

}  // namespace foretell::meta
