// Scaled dot product attention as CUDA runs it.
//
// The operator itself is a composite that asks the device for the kernel to
// use; the meta device would always get the plain mathematics, whose
// [batch, heads, length, length] matrices CUDA never stores. The override
// repeats CUDA's choice (ATen/native/transformers/cuda/sdp_utils.cpp, LibTorch
// 2.13, default settings, compute capability 8.0 or higher):
//
//   FlashAttention    16-bit types, no mask, head size up to 256;
//   memory efficient  else, float too, with or without a mask, head size a
//                     multiple of 16 bytes;
//   mathematics       the rest: float64, tensors that are not 4-D, head counts
//                     or batches that differ, a mask whose keys do not lie side
//                     by side; before 2.0 everything, since networks wrote the
//                     products and the softmax themselves.
//
// A mask that repeats one element for all keys (a stride of 0) hides nothing:
// transformers exports such a mask where nothing is padded, and gives none when
// it runs. It is left out here; src/runtime/compile reads it, since
// torch.compile sees what an export does.

#include "src/program/meta/attention.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "src/core/checked.h"
#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"
#include "src/program/meta/torch_scope.h"

namespace foretell::meta {
namespace {

constexpr std::int64_t kMaxFlashHeadSize = 256;
constexpr std::int64_t kMaskAlignment = 8;
constexpr std::int64_t kFlashHeadAlignment = 8;
constexpr std::int64_t kBiasGradientAlignment = 16;
constexpr std::int64_t kLogSumExpAlignment = 32;

bool LastStrideIsOne(const at::Tensor& tensor) {
  return tensor.dim() == 0 || tensor.size(-1) == 1 || tensor.stride(-1) == 1;
}

/// Treats all keys of a query alike.
bool HidesNothing(const at::Tensor& mask) {
  return mask.defined() && mask.dim() > 0 && mask.size(-1) > 1 &&
         mask.stride(-1) == 0;
}

// What both fused kernels ask of the inputs.
bool FitsFusedKernels(const AttentionInputs& in) {
  const at::Tensor& q = in.query;
  const at::Tensor& k = in.key;
  const at::Tensor& v = in.value;
  if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4) return false;
  if (q.scalar_type() != k.scalar_type() ||
      q.scalar_type() != v.scalar_type()) {
    return false;
  }
  const bool same_batch = q.size(0) == k.size(0) && q.size(0) == v.size(0);
  const bool not_empty = q.size(2) > 0 && k.size(2) > 0 && v.size(2) > 0;
  return same_batch && not_empty && q.size(3) == k.size(3) &&
         LastStrideIsOne(q) && LastStrideIsOne(k) && LastStrideIsOne(v) &&
         (!in.mask.defined() || LastStrideIsOne(in.mask));
}

bool HaveSameHeads(const AttentionInputs& in) {
  return in.query.size(1) == in.key.size(1) &&
         in.query.size(1) == in.value.size(1);
}

bool FitsFlash(const AttentionInputs& in) {
  if (!c10::isReducedFloatingType(in.query.scalar_type())) return false;
  if (in.mask.defined()) return false;
  if (in.query.size(3) != in.value.size(3)) return false;
  if (in.query.size(3) > kMaxFlashHeadSize) return false;
  if (in.is_causal && in.query.size(2) != in.key.size(2)) return false;
  const bool is_grouped = in.enable_gqa && in.key.size(1) > 0 &&
                          in.key.size(1) == in.value.size(1) &&
                          in.query.size(1) % in.key.size(1) == 0;
  return HaveSameHeads(in) || is_grouped;
}

bool FitsEfficient(const AttentionInputs& in) {
  const at::ScalarType dtype = in.query.scalar_type();
  if (dtype != at::kFloat && !c10::isReducedFloatingType(dtype)) return false;
  const std::int64_t alignment = dtype == at::kFloat ? 4 : 8;
  return HaveSameHeads(in) && in.query.size(3) > 0 &&
         in.query.size(3) % alignment == 0 && in.value.size(3) > 0 &&
         in.value.size(3) % alignment == 0;
}

bool IsAligned(const at::Tensor& mask) {
  for (std::int64_t axis = 0; axis + 1 < mask.dim(); ++axis) {
    if (mask.stride(axis) % kMaskAlignment != 0) return false;
  }
  return mask.stride(-1) == 1;
}

// The mask for every query of every head, rows padded to whole 16 bytes.
at::Tensor ExpandedMask(const AttentionInputs& in, at::Tensor mask) {
  if (!mask.defined()) return mask;
  if (mask.dim() > 0 && !IsAligned(mask)) {
    const std::int64_t length = mask.size(-1);
    const std::int64_t padding = kMaskAlignment - length % kMaskAlignment;
    mask = at::pad(mask, {0, padding}).slice(-1, 0, length);
  }
  return mask.expand(
      {in.query.size(0), in.query.size(1), in.query.size(2), in.key.size(2)});
}

bool NeedsGradient(const AttentionInputs& in) {
  return at::GradMode::is_enabled() &&
         (in.query.requires_grad() || in.key.requires_grad() ||
          in.value.requires_grad());
}

at::Tensor RunFlash(const AttentionInputs& in) {
  const std::int64_t head = in.query.size(-1);
  const double scale = in.scale.value_or(1.0 / std::sqrt(head));
  const at::Tensor out = std::get<0>(at::_scaled_dot_product_flash_attention(
      PadHead(in.query), PadHead(in.key), PadHead(in.value), in.dropout_p,
      in.is_causal, /*return_debug_mask=*/false, scale));
  return out.size(-1) == head ? out : out.slice(-1, 0, head);
}

at::Tensor RunEfficient(const AttentionInputs& in) {
  const at::Tensor mask =
      ExpandedMask(in, AdditiveMask(in.mask, in.query.scalar_type()));
  return std::get<0>(at::_scaled_dot_product_efficient_attention(
      in.query, in.key, in.value,
      mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt,
      NeedsGradient(in), in.dropout_p, in.is_causal, in.scale));
}

void Attention(Call& call) {
  AttentionInputs in = AttentionInputsOf(call);
  if (HidesNothing(in.mask)) in.mask = at::Tensor();
  switch (ChooseAttention(in)) {
    case AttentionKernel::kFlash:
      return call.Return(RunFlash(in));
    case AttentionKernel::kEfficient:
      return call.Return(RunEfficient(in));
    case AttentionKernel::kMath:
      return call.Return(RunAttentionMath(in));
  }
}

// [batch, heads, length, size] laid out as [batch, length, heads, size].
TensorSpec LengthMajor(const at::Tensor& like, std::int64_t size) {
  const std::int64_t heads = like.size(1);
  const std::int64_t length = like.size(2);
  TensorSpec spec =
      Contiguous(Sizes{like.size(0), heads, length, size}, like.scalar_type());
  spec.strides = {length * heads * size, size, heads * size, 1};
  return spec;
}

// The kernel keeps its random seed and offset in host memory.
at::Tensor HostScalar() {
  return at::empty({}, at::TensorOptions().dtype(at::kLong).device(at::kCPU));
}

void Efficient(Call& call) {
  const at::Tensor& query = call.Tensor("query");
  const std::int64_t rows = call.Bool("compute_log_sumexp", true)
                                ? RoundUp(query.size(2), kLogSumExpAlignment)
                                : 0;
  call.Return(LengthMajor(query, call.Tensor("value").size(3)));
  call.Return(
      Contiguous(Sizes{query.size(0), query.size(1), rows}, at::kFloat));
  call.Return(HostScalar());
  call.Return(HostScalar());
}

void EfficientBackward(Call& call) {
  const std::vector<bool> mask = call.Bools("grad_input_mask");
  for (const char* name : {"query", "key", "value"}) {
    const at::Tensor& input = call.Tensor(name);
    call.Return(LengthMajor(input, input.size(3)));
  }
  if (!mask[3] || !call.Has("attn_bias")) return call.Return(at::Tensor());
  const at::Tensor& bias = call.Tensor("attn_bias");
  Sizes sizes = bias.sizes().vec();
  const std::int64_t length = sizes.back();
  sizes.back() = RoundUp(length, kBiasGradientAlignment);
  call.Return(
      Allocate(Contiguous(sizes, bias.scalar_type())).slice(-1, 0, length));
}

void Flash(Call& call) {
  const at::Tensor& query = call.Tensor("query");
  const at::Tensor& key = call.Tensor("key");
  call.Return(Like(query));
  call.Return(Contiguous(query.sizes().slice(0, 3), at::kFloat));
  call.Return(at::Tensor());  // Sequence starts: for packed inputs only.
  call.Return(at::Tensor());
  call.ReturnValue(query.size(2));
  call.ReturnValue(key.size(2));
  call.Return(Contiguous(Sizes{2}, at::kUInt64));  // Random state.
  call.Return(Contiguous(Sizes{}, at::kUInt64));
  call.Return(Contiguous(Sizes{0}, query.scalar_type()));
}

void FlashBackward(Call& call) {
  for (const char* name : {"query", "key", "value"}) {
    call.Return(Like(call.Tensor(name)));
  }
}

void CudnnAttention(Call& call) {
  const at::Tensor& query = call.Tensor("query");
  const at::Tensor& key = call.Tensor("key");
  const std::int64_t rows =
      call.Bool("compute_log_sumexp", true) ? query.size(2) : 0;
  call.Return(LengthMajor(query, call.Tensor("value").size(3)));
  call.Return(
      Contiguous(Sizes{query.size(0), query.size(1), rows, 1}, at::kFloat));
  call.Return(at::Tensor());
  call.Return(at::Tensor());
  call.ReturnValue(query.size(2));
  call.ReturnValue(key.size(2));
  call.Return(Contiguous(Sizes{}, at::kLong));
  call.Return(Contiguous(Sizes{}, at::kLong));
  call.Return(at::Tensor());
}

// LibTorch's own fused kernel for the CPU, met in graphs that were traced
// there.
void CpuFlash(Call& call) {
  const at::Tensor& query = call.Tensor("query");
  call.Return(LengthMajor(query, call.Tensor("value").size(3)));
  TensorSpec logsumexp = Contiguous(query.sizes().slice(0, 3),
                                    AccumulateType(query.scalar_type()));
  const std::int64_t heads = query.size(1);
  logsumexp.strides = {query.size(2) * heads, 1, heads};
  call.Return(logsumexp);
}

void CpuFlashBackward(Call& call) {
  for (const char* name : {"query", "key", "value"}) {
    const at::Tensor& input = call.Tensor(name);
    call.Return(LengthMajor(input, input.size(3)));
  }
}

constexpr KernelRow kAttentionKernels[] = {
    {"scaled_dot_product_attention", Attention, Policy::kOverrideWhole},
    {"_scaled_dot_product_efficient_attention", Efficient},
    {"_scaled_dot_product_efficient_attention_backward", EfficientBackward},
    {"_scaled_dot_product_flash_attention", Flash},
    {"_scaled_dot_product_flash_attention_backward", FlashBackward},
    {"_scaled_dot_product_cudnn_attention", CudnnAttention},
    {"_scaled_dot_product_cudnn_attention_backward", CpuFlashBackward},
    {"_scaled_dot_product_flash_attention_for_cpu", CpuFlash},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", CpuFlashBackward},
};

}  // namespace

AttentionInputs AttentionInputsOf(Call& call) {
  return {.query = call.Tensor("query"),
          .key = call.Tensor("key"),
          .value = call.Tensor("value"),
          .mask = call.TensorOrUndefined("attn_mask"),
          .dropout_p = call.Double("dropout_p", 0),
          .is_causal = call.Bool("is_causal", false),
          .scale = call.Has("scale") ? std::optional(call.Double("scale", 0))
                                     : std::nullopt,
          .enable_gqa = call.Bool("enable_gqa", false)};
}

at::Tensor PadHead(const at::Tensor& tensor) {
  const std::int64_t size = tensor.size(-1);
  const std::int64_t padding = RoundUp(size, kFlashHeadAlignment) - size;
  return padding == 0 ? tensor : at::pad(tensor, {0, padding});
}

AttentionKernel ChooseAttention(const AttentionInputs& in) {
  if (TorchScope::Generation() == TorchGeneration::kNoFusedAttention) {
    return AttentionKernel::kMath;
  }
  if (!FitsFusedKernels(in)) return AttentionKernel::kMath;
  if (FitsFlash(in)) return AttentionKernel::kFlash;
  if (FitsEfficient(in)) return AttentionKernel::kEfficient;
  return AttentionKernel::kMath;
}

std::span<const KernelRow> AttentionKernels() { return kAttentionKernels; }

}  // namespace foretell::meta
