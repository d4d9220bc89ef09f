#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "src/graph/limits.h"

namespace foretell {

/// Tensor of a node whose dimensions an attribute counts.
enum class CountedTensor : std::uint8_t {
  kFirst,   ///< The first operand.
  kSecond,  ///< The second operand.
  kResult,  ///< The first result.
  kWidest,  ///< Whatever has most dimensions: operands that are broadcast.
};

/// Form of an attribute's value.
enum class AttributeForm : std::uint8_t {
  kDim,          ///< A dimension, from the end where negative.
  kDims,         ///< Different dimensions, or one.
  kDimsInTurn,   ///< Dimensions, which may come again.
  kPermutation,  ///< Every dimension once.
  kExtents,      ///< As many integers as dimensions at most.
  kInteger,      ///< One integer.
  kIntegers,     ///< Integers, or one.
  kFlag,         ///< true, false, 1 or 0.
  kFlags,        ///< A list of those.
  kReal,         ///< A number.
  kText,
  kIntegersOrText,  ///< Integers, or a word for them.
};

/// Valid values of an attribute. Limits apply to each integer of a list.
struct AttributeRule {
  AttributeForm form = AttributeForm::kInteger;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::size_t fewest_items = 0;
  std::size_t most_items = kMaxRank;
  CountedTensor tensor = CountedTensor::kFirst;
};

/// Attributes of some operators that have the same rule. Names are separated by
/// single blanks, operators without overload and in-place underscore.
struct AttributeRow {
  std::string_view operators;
  std::string_view attributes;
  AttributeRule rule;
};

namespace attribute_rules {

using enum AttributeForm;

/// Extents, counts and the like fit the 32 bits that cuDNN and PyTorch's
/// pooling kernels have for them (safe_downcast in
/// aten/src/ATen/native/Pool.h).
inline constexpr std::int64_t kMaxInt =
    std::numeric_limits<std::int32_t>::max();
inline constexpr std::size_t kMaxSpatial = 3;
inline constexpr std::size_t kAnyNumber =
    std::numeric_limits<std::size_t>::max();

constexpr AttributeRule Of(AttributeForm form, CountedTensor tensor) {
  return {.form = form, .tensor = tensor};
}
constexpr AttributeRule Between(std::int64_t least, std::int64_t most) {
  return {.form = kInteger, .least = least, .most = most};
}
/// One integer per spatial dimension, or one for all.
constexpr AttributeRule PerSpatial(std::int64_t least,
                                   std::size_t fewest_items = 1) {
  return {.form = kIntegers,
          .least = least,
          .most = kMaxInt,
          .fewest_items = fewest_items,
          .most_items = kMaxSpatial};
}
constexpr AttributeRule Sizes(std::int64_t least,
                              std::size_t most_items = kMaxRank) {
  return {.form = kIntegers,
          .least = least,
          .most = kMaxElements,
          .most_items = most_items};
}

inline constexpr AttributeRule kDimOfFirst = Of(kDim, CountedTensor::kFirst);
inline constexpr AttributeRule kDimOfResult = Of(kDim, CountedTensor::kResult);
inline constexpr AttributeRule kDimOfWidest = Of(kDim, CountedTensor::kWidest);
inline constexpr AttributeRule kDimsOfFirst = Of(kDims, CountedTensor::kFirst);
inline constexpr AttributeRule kDimsInTurnOfFirst =
    Of(kDimsInTurn, CountedTensor::kFirst);
inline constexpr AttributeRule kOneFlag = {.form = kFlag};
inline constexpr AttributeRule kCount = Between(0, kMaxElements);
inline constexpr AttributeRule kPositive = Between(1, kMaxInt);

/// Convolutions, and what cuts an image into their windows.
inline constexpr std::string_view kConvolutions =
    "_conv_depthwise2d _convolution _convolution_mode conv1d conv2d conv3d "
    "conv_depthwise3d conv_transpose1d conv_transpose2d conv_transpose3d "
    "convolution convolution_backward convolution_backward_overrideable "
    "convolution_overrideable cudnn_convolution cudnn_convolution_add_relu "
    "cudnn_convolution_relu cudnn_convolution_transpose miopen_convolution "
    "miopen_convolution_add_relu miopen_convolution_relu "
    "miopen_convolution_transpose miopen_depthwise_convolution "
    "mkldnn_convolution slow_conv_dilated2d slow_conv_dilated3d "
    "slow_conv_transpose2d slow_conv_transpose3d thnn_conv2d slow_conv3d "
    "slow_conv3d_forward _slow_conv2d_forward _slow_conv2d_backward "
    "_nnpack_spatial_convolution col2im im2col";
/// Poolings with a stride and padding.
inline constexpr std::string_view kPaddedPools =
    "avg_pool1d avg_pool2d avg_pool2d_backward avg_pool3d "
    "avg_pool3d_backward max_pool1d max_pool1d_with_indices max_pool2d "
    "max_pool2d_backward max_pool2d_with_indices "
    "max_pool2d_with_indices_backward max_pool3d max_pool3d_with_indices "
    "max_pool3d_with_indices_backward mkldnn_max_pool2d "
    "mkldnn_max_pool2d_backward mkldnn_max_pool3d mkldnn_max_pool3d_backward "
    "quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d";

}  // namespace attribute_rules

/// Of kTimesAttribute, which a call of any operator may have.
inline constexpr AttributeRule kTimesRule = attribute_rules::kPositive;

/// Exchanges among GPUs (collective.h), apart from those of a pair.
inline constexpr std::string_view kExchanges =
    "c10d::allreduce c10d::broadcast c10d::_allgather_base "
    "c10d::_reduce_scatter_base c10d::alltoall_base c10d::permute_tensor";

/// The table, from the schemas and checks of PyTorch 2.13 (c10::maybe_wrap_dim,
/// aten/src/ATen/native). A row for each family of attributes.
// clang-format off
inline constexpr AttributeRow kAttributeRows[] = {
    // Dimensions ---------------------------------------------------------
    {"_aminmax _chunk_cat _cummax_helper _cummin_helper _dim_arange "
     "_gather_sparse_backward _log_softmax _log_softmax_backward_data "
     "_logcumsumexp _masked_softmax _masked_softmax_backward _safe_softmax "
     "_softmax _softmax_backward_data _weight_norm "
     "_weight_norm_differentiable_backward _weight_norm_interface "
     "_weight_norm_interface_backward aminmax argmax argmin argsort chunk "
     "cummax cummaxmin_backward cummin cumprod cumprod_backward cumsum "
     "cumulative_trapezoid diff fft_fft fft_hfft fft_ifft fft_ihfft fft_irfft "
     "fft_rfft gather gather_backward glu glu_backward index_add index_copy "
     "index_fill index_reduce index_select kthvalue log_softmax logcumsumexp "
     "max median min mode nanmedian nanquantile narrow narrow_copy "
     "norm_except_dim prod quantile repeat_interleave scatter scatter_add "
     "scatter_reduce select select_copy select_scatter slice slice_copy "
     "slice_scatter softmax sort special_log_softmax special_softmax split "
     "split_copy split_with_sizes split_with_sizes_copy take_along_dim "
     "tensor_split topk trapezoid trapz unbind unbind_copy unflatten "
     "unique_consecutive unique_dim unique_dim_consecutive unsafe_chunk "
     "unsafe_split unsafe_split_with_sizes",
     "dim", attribute_rules::kDimOfFirst},
    {"_stack cat concat concatenate index_select_backward select_backward "
     "slice_backward stack unfold_backward unsqueeze unsqueeze_copy "
     "value_selecting_reduction_backward",
     "dim", attribute_rules::kDimOfResult},
    {"cosine_similarity cross linalg_cross linalg_vecdot",
     "dim", attribute_rules::kDimOfWidest},
    {"_fft_c2c _fft_c2r _fft_r2c all amax amin any count_nonzero fft_fft2 "
     "fft_fftn fft_hfft2 fft_hfftn fft_ifft2 fft_ifftn fft_ihfft2 fft_ihfftn fft_irfft2 fft_irfftn fft_rfft2 "
     "fft_rfftn frobenius_norm linalg_matrix_norm linalg_norm "
     "linalg_vector_norm logsumexp mean nanmean nansum native_norm norm "
     "nuclear_norm special_logsumexp squeeze squeeze_copy std std_mean sum "
     "var var_mean",
     "dim", attribute_rules::kDimsOfFirst},
    {"_mkldnn_transpose swapdims transpose transpose_copy",
     "dim0 dim1", attribute_rules::kDimOfFirst},
    {"swapaxes", "axis0 axis1", attribute_rules::kDimOfFirst},
    {"diagonal diagonal_copy diagonal_scatter linalg_diagonal",
     "dim1 dim2", attribute_rules::kDimOfFirst},
    {"diag_embed diagonal_backward",
     "dim1 dim2", attribute_rules::kDimOfResult},
    {"unfold unfold_copy", "dimension", attribute_rules::kDimOfFirst},
    {"flatten", "start_dim end_dim", attribute_rules::kDimOfFirst},
    {"fake_quantize_per_channel_affine "
     "fake_quantize_per_channel_affine_cachemask quantize_per_channel "
     "segment_reduce",
     "axis", attribute_rules::kDimOfFirst},
    {"movedim moveaxis", "source destination", attribute_rules::kDimsOfFirst},
    {"flip rot90", "dims", attribute_rules::kDimsOfFirst},
    {"roll", "dims", attribute_rules::kDimsInTurnOfFirst},
    {"fft_fftshift fft_ifftshift", "dim", attribute_rules::kDimsInTurnOfFirst},
    {"permute permute_copy", "dims",
     attribute_rules::Of(AttributeForm::kPermutation, CountedTensor::kFirst)},
    {"tensordot", "dims_self", attribute_rules::kDimsOfFirst},
    {"tensordot", "dims_other",
     attribute_rules::Of(AttributeForm::kDims, CountedTensor::kSecond)},
    {"_trilinear", "expand1 expand2 expand3 sumdim",
     {.form = AttributeForm::kIntegers, .most = kMaxRank - 1}},
    {"_trilinear", "unroll_dim", attribute_rules::Between(0, kMaxRank - 1)},
    {"_fused_rms_norm layer_norm native_layer_norm rms_norm "
     "_fused_rms_norm_backward native_layer_norm_backward",
     "normalized_shape",
     {.form = AttributeForm::kExtents, .most = kMaxElements}},
    // Convolutions and windows -------------------------------------------
    {attribute_rules::kConvolutions, "stride dilation kernel_size",
     attribute_rules::PerSpatial(1)},
    {attribute_rules::kConvolutions, "padding output_padding",
     {.form = AttributeForm::kIntegersOrText,
      .most = attribute_rules::kMaxInt,
      .fewest_items = 1,
      .most_items = attribute_rules::kMaxSpatial}},
    {"_convolution _convolution_mode channel_shuffle conv1d conv2d conv3d "
     "conv_transpose1d conv_transpose2d conv_transpose3d convolution "
     "convolution_backward convolution_backward_overrideable "
     "convolution_overrideable cudnn_convolution cudnn_convolution_add_relu "
     "cudnn_convolution_relu cudnn_convolution_transpose miopen_convolution "
     "miopen_convolution_add_relu miopen_convolution_relu "
     "miopen_convolution_transpose miopen_depthwise_convolution "
     "mkldnn_convolution native_channel_shuffle",
     "groups", attribute_rules::kPositive},
    {"_convolution convolution convolution_backward "
     "convolution_backward_overrideable convolution_overrideable",
     "transposed", attribute_rules::kOneFlag},
    {"convolution_backward convolution_backward_overrideable "
     "_slow_conv2d_backward _cudnn_rnn_backward miopen_rnn_backward "
     "native_batch_norm_backward native_layer_norm_backward "
     "native_group_norm_backward",
     "output_mask",
     {.form = AttributeForm::kFlags, .most = 1, .most_items = 4}},
    {"avg_pool1d avg_pool2d avg_pool2d_backward avg_pool3d "
     "avg_pool3d_backward fractional_max_pool2d fractional_max_pool2d_backward "
     "fractional_max_pool3d fractional_max_pool3d_backward max_pool1d "
     "max_pool1d_with_indices max_pool2d max_pool2d_backward "
     "max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d "
     "max_pool3d_with_indices max_pool3d_with_indices_backward "
     "mkldnn_max_pool2d mkldnn_max_pool2d_backward mkldnn_max_pool3d "
     "mkldnn_max_pool3d_backward quantized_max_pool1d quantized_max_pool2d "
     "quantized_max_pool3d",
     "kernel_size dilation", attribute_rules::PerSpatial(1)},
    {attribute_rules::kPaddedPools, "stride",
     attribute_rules::PerSpatial(1, 0)},
    {attribute_rules::kPaddedPools, "padding", attribute_rules::PerSpatial(0)},
    {"_adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_avg_pool1d "
     "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d "
     "adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d "
     "fractional_max_pool3d mkldnn_adaptive_avg_pool2d _upsample_bicubic2d_aa "
     "_upsample_bilinear2d_aa _upsample_lanczos2d_aa _upsample_nearest_exact1d "
     "_upsample_nearest_exact2d _upsample_nearest_exact3d upsample_bicubic2d "
     "upsample_bilinear2d upsample_linear1d upsample_nearest1d "
     "upsample_nearest2d upsample_nearest3d upsample_trilinear3d col2im "
     "max_unpool2d max_unpool3d",
     "output_size", attribute_rules::PerSpatial(0, 0)},
    {"constant_pad_nd pad _pad_circular _pad_enum",
     "pad",
     {.form = AttributeForm::kIntegers,
      .least = -kMaxElements,
      .most = kMaxElements,
      .most_items = 2 * kMaxRank}},
    {"reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d "
     "replication_pad2d replication_pad3d",
     "padding",
     {.form = AttributeForm::kIntegers,
      .least = -kMaxElements,
      .most = kMaxElements,
      .most_items = 2 * attribute_rules::kMaxSpatial}},
    {"pixel_shuffle", "upscale_factor", attribute_rules::kPositive},
    {"pixel_unshuffle", "downscale_factor", attribute_rules::kPositive},
    // Norms --------------------------------------------------------------
    {"group_norm", "num_groups", attribute_rules::kPositive},
    {"native_group_norm native_group_norm_backward", "group",
     attribute_rules::kPositive},
    {"native_group_norm native_group_norm_backward", "N C HxW",
     attribute_rules::kCount},
    {"batch_norm _batch_norm_impl_index cudnn_batch_norm miopen_batch_norm "
     "native_batch_norm _native_batch_norm_legit "
     "_native_batch_norm_legit_functional",
     "training", attribute_rules::kOneFlag},
    // Products, attention and recurrent layers ---------------------------
    {"einsum", "equation", {.form = AttributeForm::kText}},
    {"_native_multi_head_attention _triton_multi_head_attention", "num_head",
     attribute_rules::kPositive},
    {"_transformer_encoder_layer_fwd _transform_bias_rescale_qkv", "num_heads",
     attribute_rules::kPositive},
    {"_native_multi_head_attention _triton_multi_head_attention "
     "_transformer_encoder_layer_fwd",
     "embed_dim", attribute_rules::kCount},
    {"_native_multi_head_attention", "need_weights average_attn_weights",
     attribute_rules::kOneFlag},
    {"_transformer_encoder_layer_fwd", "norm_first use_gelu",
     attribute_rules::kOneFlag},
    {"_cudnn_attention_backward _cudnn_attention_forward "
     "_flash_attention_backward _flash_attention_forward "
     "_efficient_attention_backward _efficient_attention_forward "
     "_scaled_dot_product_cudnn_attention_backward "
     "_scaled_dot_product_flash_attention_backward "
     "_scaled_dot_product_fused_attention_overrideable_backward",
     "max_q max_k max_seqlen_q max_seqlen_k", attribute_rules::kCount},
    {"scaled_dot_product_attention _scaled_dot_product_attention_math "
     "_scaled_dot_product_efficient_attention "
     "_scaled_dot_product_flash_attention "
     "_scaled_dot_product_flash_attention_for_cpu "
     "_scaled_dot_product_cudnn_attention "
     "_scaled_dot_product_fused_attention_overrideable "
     "_flash_attention_forward _cudnn_attention_forward "
     "_scaled_dot_product_efficient_attention_backward "
     "_scaled_dot_product_flash_attention_backward "
     "_scaled_dot_product_flash_attention_for_cpu_backward "
     "_scaled_dot_product_cudnn_attention_backward "
     "_scaled_dot_product_fused_attention_overrideable_backward "
     "_flash_attention_backward _cudnn_attention_backward",
     "is_causal", attribute_rules::kOneFlag},
    {"lstm gru rnn_tanh rnn_relu",
     "has_biases train bidirectional batch_first", attribute_rules::kOneFlag},
    {"lstm gru rnn_tanh rnn_relu _cudnn_rnn _cudnn_rnn_backward miopen_rnn "
     "miopen_rnn_backward",
     "dropout", {.form = AttributeForm::kReal}},
    {"lstm gru rnn_tanh rnn_relu _cudnn_rnn _cudnn_rnn_backward miopen_rnn "
     "miopen_rnn_backward mkldnn_rnn_layer mkldnn_rnn_layer_backward",
     "num_layers", attribute_rules::Between(1, 1 << 16)},
    {"_cudnn_rnn _cudnn_rnn_backward miopen_rnn miopen_rnn_backward",
     "weight_stride0", attribute_rules::Between(0, 1 << 16)},
    {"_cudnn_rnn _cudnn_rnn_backward miopen_rnn miopen_rnn_backward "
     "mkldnn_rnn_layer mkldnn_rnn_layer_backward",
     "mode", attribute_rules::Between(0, 3)},
    {"_cudnn_rnn _cudnn_rnn_backward miopen_rnn miopen_rnn_backward "
     "mkldnn_rnn_layer mkldnn_rnn_layer_backward",
     "hidden_size proj_size", attribute_rules::kCount},
    {"_cudnn_rnn _cudnn_rnn_backward miopen_rnn miopen_rnn_backward",
     "bidirectional batch_first train", attribute_rules::kOneFlag},
    {"_cudnn_rnn _cudnn_rnn_backward miopen_rnn miopen_rnn_backward "
     "mkldnn_rnn_layer mkldnn_rnn_layer_backward",
     "batch_sizes", attribute_rules::Sizes(0, attribute_rules::kAnyNumber)},
    // Losses and reductions ----------------------------------------------
    {"binary_cross_entropy binary_cross_entropy_backward "
     "binary_cross_entropy_with_logits cosine_embedding_loss "
     "cross_entropy_loss ctc_loss hinge_embedding_loss huber_loss "
     "huber_loss_backward kl_div l1_loss margin_ranking_loss mse_loss "
     "mse_loss_backward multi_margin_loss multi_margin_loss_backward "
     "multilabel_margin_loss multilabel_margin_loss_backward "
     "multilabel_margin_loss_forward nll_loss nll_loss2d nll_loss2d_backward "
     "nll_loss2d_forward nll_loss_backward nll_loss_forward nll_loss_nd "
     "poisson_nll_loss smooth_l1_loss smooth_l1_loss_backward soft_margin_loss "
     "soft_margin_loss_backward triplet_margin_loss",
     "reduction", attribute_rules::Between(0, 2)},
    {"cross_entropy_loss", "label_smoothing", {.form = AttributeForm::kReal}},
    {"kl_div", "log_target", attribute_rules::kOneFlag},
    {"poisson_nll_loss", "log_input full", attribute_rules::kOneFlag},
    {"triplet_margin_loss", "swap", attribute_rules::kOneFlag},
    {"feature_dropout feature_alpha_dropout dropout alpha_dropout", "train",
     attribute_rules::kOneFlag},
    {"all amax amin any argmax argmin count_nonzero frobenius_norm kthvalue "
     "linalg_matrix_norm linalg_norm linalg_vector_norm logsumexp max mean "
     "median min mode nanmean nanmedian nansum native_norm norm nuclear_norm "
     "pairwise_distance prod special_logsumexp std std_mean sum var var_mean",
     "keepdim", attribute_rules::kOneFlag},
    {"cdist _cdist_forward", "compute_mode", attribute_rules::Between(0, 2)},
    {"cdist _cdist_forward", "p", {.form = AttributeForm::kReal}},
    // Sizes and parts ----------------------------------------------------
    {"_reshape_alias _reshape_copy _unsafe_view broadcast_to expand "
     "expand_copy view view_copy empty full new_empty new_full new_ones "
     "new_zeros ones zeros as_strided as_strided_copy",
     "size", attribute_rules::Sizes(-1)},
    {"reshape _mkldnn_reshape", "shape", attribute_rules::Sizes(-1)},
    {"unflatten", "sizes", attribute_rules::Sizes(-1)},
    {"_reshape_alias as_strided as_strided_copy", "stride",
     attribute_rules::Sizes(0)},
    {"repeat", "repeats", attribute_rules::Sizes(0)},
    {"tile", "dims", attribute_rules::Sizes(0)},
    {"slice slice_copy slice_backward slice_scatter", "step",
     attribute_rules::Between(1, std::numeric_limits<std::int64_t>::max())},
    {"unfold unfold_copy", "step", attribute_rules::Between(1, kMaxElements)},
    {"unfold unfold_copy", "size", attribute_rules::kCount},
    {"chunk unsafe_chunk", "chunks", attribute_rules::Between(1, kMaxElements)},
    {"split_with_sizes split_with_sizes_copy unsafe_split_with_sizes",
     "split_sizes", attribute_rules::Sizes(0, attribute_rules::kAnyNumber)},
    {"topk", "k", attribute_rules::kCount},
    // foretell's own -----------------------------------------------------
    {kExchanges, "gpus plan_gpus", attribute_rules::kPositive},
    {kExchanges, "bytes", attribute_rules::Between(0, kMaxTotalBytes)},
    {kExchanges, "plan", {.form = AttributeForm::kText}},
    {"linear addmm mm matmul", "shared", {.form = AttributeForm::kText}},
};
// clang-format on

}  // namespace foretell
