// Normalisations, with the statistics that CUDA saves for the backward pass:
// in float where the data are 16-bit.

#include <array>

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

at::Tensor InputOf(const Call& call) {
  return call.Tensor(call.Has("input") ? "input" : "self");
}

TensorSpec LikeInput(const at::Tensor& input) {
  return InFormat(input.sizes(), input.scalar_type(),
                  input.suggest_memory_format());
}

// One statistic per channel; empty when the running ones are used.
TensorSpec ChannelStatistic(const at::Tensor& input, bool training) {
  TORCH_CHECK(input.dim() >= 2, "batch_norm: the input ", input.sizes(),
              " has no channels");
  const std::array<std::int64_t, 1> sizes = {training ? input.size(1) : 0};
  return Contiguous(sizes, AccumulateType(input.scalar_type()));
}

void BatchNorm(Call& call) {
  const at::Tensor input = InputOf(call);
  const bool training = call.Bool("training", true);
  call.Return(LikeInput(input));
  call.Return(ChannelStatistic(input, training));
  call.Return(ChannelStatistic(input, training));
}

// As BatchNorm, with cuDNN's reserve: no bytes, for a norm without a fused
// activation.
void BatchNormWithReserve(Call& call) {
  BatchNorm(call);
  const std::array<std::int64_t, 1> none = {0};
  call.Return(Contiguous(none, at::kByte));
}

// Backward of one norm: gradients of the input, the weight and the bias.
void BatchNormBackward(Call& call) {
  const at::Tensor input = InputOf(call);
  const at::Tensor weight = call.TensorOrUndefined("weight");
  const std::vector<bool> mask = call.Has("output_mask")
                                     ? call.Bools("output_mask")
                                     : std::vector<bool>(3, true);
  const std::array<std::int64_t, 1> channels = {input.size(1)};
  const at::ScalarType dtype = weight.defined()
                                   ? weight.scalar_type()
                                   : AccumulateType(input.scalar_type());
  call.ReturnIf(mask[0], LikeInput(input));
  call.ReturnIf(mask[1], Contiguous(channels, dtype));
  call.ReturnIf(mask[2], Contiguous(channels, dtype));
}

void BatchNormStatistics(Call& call) {
  const at::Tensor input = InputOf(call);
  call.Return(ChannelStatistic(input, true));
  call.Return(ChannelStatistic(input, true));
}

// Leading axes of `input`, the normalised ones as 1.
TensorSpec RowStatistic(const at::Tensor& input, std::size_t normalized_rank) {
  TORCH_CHECK(static_cast<std::size_t>(input.dim()) >= normalized_rank,
              "layer_norm: the input ", input.sizes(), " has less than ",
              normalized_rank, " axes");
  Sizes sizes = input.sizes().vec();
  std::fill(sizes.end() - static_cast<std::ptrdiff_t>(normalized_rank),
            sizes.end(), 1);
  return Contiguous(sizes, AccumulateType(input.scalar_type()));
}

void CheckNormalizedShape(const at::Tensor& input, const Sizes& shape) {
  const auto rank = static_cast<std::size_t>(input.dim());
  TORCH_CHECK(!shape.empty() && shape.size() <= rank &&
                  input.sizes().slice(rank - shape.size()).equals(shape),
              "layer_norm: normalized_shape ", at::IntArrayRef(shape),
              " does not end the input ", input.sizes());
}

void LayerNorm(Call& call) {
  const at::Tensor input = InputOf(call);
  const Sizes shape = call.Ints("normalized_shape");
  CheckNormalizedShape(input, shape);
  call.Return(Contiguous(input.sizes(), input.scalar_type()));
  call.Return(RowStatistic(input, shape.size()));
  call.Return(RowStatistic(input, shape.size()));
}

void LayerNormBackward(Call& call) {
  const at::Tensor input = InputOf(call);
  const at::Tensor weight = call.TensorOrUndefined("weight");
  const at::Tensor bias = call.TensorOrUndefined("bias");
  const std::vector<bool> mask = call.Bools("output_mask");
  call.ReturnIf(mask[0], Contiguous(input.sizes(), input.scalar_type()));
  call.ReturnIf(mask[1] && weight.defined(),
                Contiguous(call.Ints("normalized_shape"),
                           weight.defined() ? weight.scalar_type()
                                            : input.scalar_type()));
  if (mask.size() < 3) return;
  call.ReturnIf(
      mask[2] && bias.defined(),
      Contiguous(call.Ints("normalized_shape"),
                 bias.defined() ? bias.scalar_type() : input.scalar_type()));
}

void RmsNorm(Call& call) {
  const at::Tensor input = InputOf(call);
  const Sizes shape = call.Ints("normalized_shape");
  CheckNormalizedShape(input, shape);
  call.Return(Contiguous(input.sizes(), input.scalar_type()));
  call.Return(RowStatistic(input, shape.size()));
}

void GroupNorm(Call& call) {
  const at::Tensor input = InputOf(call);
  const std::array<std::int64_t, 2> groups = {call.Int("N"), call.Int("group")};
  // Float statistics only where float parameters meet 16-bit data.
  const at::Tensor weight = call.TensorOrUndefined("weight");
  const at::ScalarType dtype =
      weight.defined() ? weight.scalar_type() : input.scalar_type();
  call.Return(LikeInput(input));
  call.Return(Contiguous(groups, dtype));
  call.Return(Contiguous(groups, dtype));
}

void GroupNormBackward(Call& call) {
  const at::Tensor input = InputOf(call);
  const at::Tensor weight = call.TensorOrUndefined("weight");
  const std::vector<bool> mask = call.Bools("output_mask");
  const std::array<std::int64_t, 1> channels = {call.Int("C")};
  const at::ScalarType dtype =
      weight.defined() ? weight.scalar_type() : input.scalar_type();
  call.ReturnIf(mask[0], LikeInput(input));
  call.ReturnIf(mask[1], Contiguous(channels, dtype));
  call.ReturnIf(mask[2], Contiguous(channels, dtype));
}

// Weight normalisation: v scaled to the norms g, one per slice along `dim`.
void WeightNorm(Call& call) {
  const at::Tensor& g = call.Tensor("g");
  call.Return(Like(call.Tensor("v")));
  call.Return(Like(g, AccumulateType(g.scalar_type())));
}

void WeightNormBackward(Call& call) {
  call.Return(Like(call.Tensor("saved_v")));
  call.Return(Like(call.Tensor("saved_g")));
}

constexpr KernelRow kNormalizationKernels[] = {
    {"native_batch_norm", BatchNorm},
    {"native_batch_norm_backward", BatchNormBackward},
    {"_native_batch_norm_legit", BatchNorm},
    {"_batch_norm_with_update", BatchNormWithReserve},
    {"cudnn_batch_norm", BatchNormWithReserve},
    {"cudnn_batch_norm_backward", BatchNormBackward},
    {"batch_norm_backward", BatchNormBackward},
    {"batch_norm_update_stats", BatchNormStatistics},
    {"batch_norm_stats", BatchNormStatistics},
    {"native_layer_norm", LayerNorm, Policy::kOverride},
    {"native_layer_norm_backward", LayerNormBackward},
    {"_fused_rms_norm", RmsNorm, Policy::kOverride},
    {"_fused_rms_norm_backward", LayerNormBackward},
    {"native_group_norm", GroupNorm, Policy::kOverride},
    {"native_group_norm_backward", GroupNormBackward},
    {"_weight_norm_interface", WeightNorm},
    {"_weight_norm_interface_backward", WeightNormBackward},
};

}  // namespace

std::span<const KernelRow> NormalizationKernels() {
  return kNormalizationKernels;
}

}  // namespace foretell::meta
