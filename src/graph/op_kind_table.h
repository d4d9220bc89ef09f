#pragma once

#include <array>
#include <string_view>

#include "foretell/graph.h"

namespace foretell {

/// Operators of one kind: ATen names, separated by single blanks, without
/// "aten::", overload and in-place underscore.
struct OpKindRow {
  OpKind kind;
  std::string_view targets;
};

/// Every ATen operator that an eager forward, backward or optimizer pass calls
/// at the top level, by what it does. Operators of other namespaces keep their
/// prefix. Each name is in one row only.
inline constexpr OpKindRow kOpKindRows[] = {
    {OpKind::kConvolution,
     "conv1d conv2d conv3d convolution _convolution _convolution_mode conv_tbc "
     "convolution_overrideable _conv_depthwise2d conv_depthwise3d thnn_conv2d "
     "_slow_conv2d_forward slow_conv3d slow_conv3d_forward slow_conv_dilated2d "
     "slow_conv_dilated3d cudnn_convolution cudnn_convolution_relu "
     "cudnn_convolution_add_relu mkldnn_convolution miopen_convolution "
     "miopen_convolution_relu miopen_convolution_add_relu "
     "miopen_depthwise_convolution _nnpack_spatial_convolution "
     "torchvision::deform_conv2d deform_conv2d"},
    {OpKind::kTransposedConvolution,
     "conv_transpose1d conv_transpose2d conv_transpose3d slow_conv_transpose2d "
     "slow_conv_transpose3d cudnn_convolution_transpose "
     "miopen_convolution_transpose"},
    {OpKind::kConvolutionBackward,
     "convolution_backward convolution_backward_overrideable "
     "_slow_conv2d_backward conv_tbc_backward "
     "torchvision::_deform_conv2d_backward _deform_conv2d_backward"},
    {OpKind::kLinear, "linear mkldnn_linear bilinear"},
    {OpKind::kMatmul,
     "matmul mm bmm mv dot vdot inner addmm addmv addbmm baddbmm addr outer "
     "ger kron chain_matmul tensordot linalg_matmul linalg_multi_dot "
     "linalg_vecdot linalg_matrix_power matrix_power _addmm_activation _int_mm "
     "_scaled_mm _scaled_mm_v2 _grouped_mm _scaled_grouped_mm "
     "_scaled_grouped_mm_v2 gptq::quant_matmul "
     "bitsandbytes::int8_linear_matmul transformer_engine::gemm _trilinear "
     "_weight_int8pack_mm "
     "_weight_int4pack_mm "
     "sspaddmm smm hspmm _sparse_mm _sparse_addmm"},
    {OpKind::kEinsum, "einsum"},
    {OpKind::kAttention,
     "scaled_dot_product_attention _scaled_dot_product_attention_math "
     "_scaled_dot_product_attention_math_for_mps "
     "_scaled_dot_product_efficient_attention "
     "_scaled_dot_product_flash_attention "
     "_scaled_dot_product_flash_attention_for_cpu "
     "_scaled_dot_product_cudnn_attention "
     "_scaled_dot_product_fused_attention_overrideable "
     "_efficient_attention_forward _flash_attention_forward "
     "_cudnn_attention_forward _native_multi_head_attention "
     "_triton_scaled_dot_attention _triton_multi_head_attention "
     "higher_order::flex_attention "
     "_transformer_encoder_layer_fwd"},
    {OpKind::kAttentionBackward,
     "_scaled_dot_product_efficient_attention_backward "
     "_scaled_dot_product_flash_attention_backward "
     "_scaled_dot_product_flash_attention_for_cpu_backward "
     "_scaled_dot_product_cudnn_attention_backward "
     "_scaled_dot_product_fused_attention_overrideable_backward "
     "_efficient_attention_backward _flash_attention_backward "
     "_cudnn_attention_backward higher_order::flex_attention_backward"},
    {OpKind::kRecurrent,
     "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell "
     "rnn_relu_cell _cudnn_rnn miopen_rnn mkldnn_rnn_layer"},
    {OpKind::kRecurrentBackward,
     "_cudnn_rnn_backward miopen_rnn_backward mkldnn_rnn_layer_backward"},
    {OpKind::kEmbedding,
     "embedding embedding_bag _embedding_bag _embedding_bag_forward_only "
     "embedding_renorm"},
    {OpKind::kEmbeddingBackward,
     "embedding_backward embedding_dense_backward embedding_sparse_backward "
     "_embedding_bag_backward _embedding_bag_dense_backward "
     "_embedding_bag_sparse_backward "
     "_embedding_bag_per_sample_weights_backward"},
    {OpKind::kBatchNorm,
     "batch_norm native_batch_norm _native_batch_norm_legit "
     "_native_batch_norm_legit_functional "
     "_native_batch_norm_legit_no_training _batch_norm_impl_index "
     "_batch_norm_with_update _batch_norm_with_update_functional "
     "_batch_norm_no_update cudnn_batch_norm miopen_batch_norm "
     "quantized_batch_norm batch_norm_elemt batch_norm_stats "
     "batch_norm_update_stats batch_norm_gather_stats "
     "batch_norm_gather_stats_with_counts"},
    {OpKind::kLayerNorm, "layer_norm native_layer_norm"},
    {OpKind::kGroupNorm, "group_norm native_group_norm"},
    {OpKind::kInstanceNorm, "instance_norm"},
    {OpKind::kRmsNorm, "rms_norm _fused_rms_norm liger::rms_norm"},
    {OpKind::kLocalResponseNorm, "local_response_norm"},
    {OpKind::kNormBackward,
     "native_batch_norm_backward batch_norm_backward "
     "batch_norm_backward_reduce batch_norm_backward_elemt "
     "_batch_norm_impl_index_backward cudnn_batch_norm_backward "
     "miopen_batch_norm_backward native_layer_norm_backward "
     "native_group_norm_backward _fused_rms_norm_backward "
     "liger::rms_norm_backward "
     "_weight_norm_interface_backward "
     "_weight_norm_differentiable_backward"},
    {OpKind::kSoftmax,
     "softmax log_softmax _softmax _log_softmax special_softmax "
     "special_log_softmax _safe_softmax _masked_softmax"},
    {OpKind::kSoftmaxBackward,
     "_softmax_backward_data _log_softmax_backward_data "
     "_masked_softmax_backward"},
    {OpKind::kRelu, "relu"},
    {OpKind::kGelu, "gelu"},
    {OpKind::kSilu, "silu liger::swiglu"},
    {OpKind::kSigmoid, "sigmoid special_expit"},
    {OpKind::kTanh, "tanh"},
    {OpKind::kHardActivation,
     "hardtanh hardswish hardsigmoid relu6 hardshrink"},
    {OpKind::kOtherActivation,
     "leaky_relu elu selu celu prelu _prelu_kernel mish softplus softshrink "
     "threshold log_sigmoid log_sigmoid_forward glu rrelu "
     "rrelu_with_noise rrelu_with_noise_functional logit special_logit "
     "liger::rope"},
    {OpKind::kActivationBackward,
     "threshold_backward gelu_backward silu_backward sigmoid_backward "
     "tanh_backward hardtanh_backward hardswish_backward hardsigmoid_backward "
     "hardshrink_backward leaky_relu_backward elu_backward mish_backward "
     "softplus_backward softshrink_backward log_sigmoid_backward glu_backward "
     "rrelu_with_noise_backward _prelu_kernel_backward logit_backward "
     "infinitely_differentiable_gelu_backward liger::swiglu_backward"},
    {OpKind::kMaxPool,
     "max_pool1d max_pool2d max_pool3d max_pool1d_with_indices "
     "max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool1d "
     "adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d "
     "fractional_max_pool3d mkldnn_max_pool2d mkldnn_max_pool3d "
     "quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d"},
    {OpKind::kAveragePool,
     "avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d "
     "adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d "
     "_adaptive_avg_pool3d mkldnn_adaptive_avg_pool2d"},
    {OpKind::kPoolBackward,
     "max_pool2d_backward max_pool2d_with_indices_backward "
     "max_pool3d_with_indices_backward adaptive_max_pool2d_backward "
     "adaptive_max_pool3d_backward fractional_max_pool2d_backward "
     "fractional_max_pool3d_backward avg_pool2d_backward avg_pool3d_backward "
     "adaptive_avg_pool3d_backward _adaptive_avg_pool2d_backward "
     "_adaptive_avg_pool3d_backward mkldnn_max_pool2d_backward "
     "mkldnn_max_pool3d_backward mkldnn_adaptive_avg_pool2d_backward"},
    {OpKind::kAdd, "add _add_relu __iadd__ __add__"},
    {OpKind::kSubtract, "sub subtract rsub __isub__ __sub__"},
    {OpKind::kMultiply, "mul multiply __imul__ __mul__"},
    {OpKind::kDivide,
     "div divide true_divide reciprocal floor_divide "
     "__idiv__ __div__"},
    {OpKind::kElementwise,
     "abs absolute acos acosh addcdiv addcmul angle arccos arccosh arcsin "
     "arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh bitwise_and "
     "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift "
     "bitwise_xor __and__ __or__ __xor__ __iand__ __ior__ __ixor__ __lshift__ "
     "__rshift__ __ilshift__ __irshift__ ceil clamp clamp_max clamp_min clip "
     "complex conj _conj conj_physical _conj_physical copysign cos cosh "
     "deg2rad digamma erf erfc erfinv exp exp2 expm1 fix float_power floor "
     "fmax fmin fmod frac frexp gcd heaviside hypot i0 igamma igammac imag "
     "lcm ldexp lerp lgamma log log10 log1p log2 logaddexp logaddexp2 "
     "logical_and logical_not logical_or logical_xor maximum minimum "
     "mvlgamma nan_to_num neg negative nextafter polar polygamma positive pow "
     "rad2deg real remainder resolve_conj resolve_neg round rsqrt sgn sign "
     "signbit sin sinc sinh sqrt square tan trunc xlogy special_digamma "
     "special_entr special_erf special_erfc special_erfcx special_erfinv "
     "special_exp2 special_expm1 special_gammainc special_gammaincc "
     "special_gammaln special_i0 special_i0e special_i1 special_i1e "
     "special_log1p special_log_ndtr special_multigammaln special_ndtr "
     "special_ndtri special_polygamma special_psi special_round special_sinc "
     "special_xlog1py special_xlogy special_zeta _thnn_fused_lstm_cell "
     "_thnn_fused_gru_cell _thnn_fused_lstm_cell_backward "
     "_thnn_fused_lstm_cell_backward_impl _thnn_fused_gru_cell_backward "
     "_thnn_differentiable_lstm_cell_backward "
     "_thnn_differentiable_gru_cell_backward _weight_norm "
     "_weight_norm_interface fake_quantize_per_tensor_affine "
     "fake_quantize_per_tensor_affine_cachemask "
     "fake_quantize_per_tensor_affine_cachemask_backward "
     "fake_quantize_per_channel_affine "
     "fake_quantize_per_channel_affine_cachemask "
     "fake_quantize_per_channel_affine_cachemask_backward "
     "_fake_quantize_learnable_per_tensor_affine "
     "_fake_quantize_learnable_per_tensor_affine_backward "
     "_fake_quantize_learnable_per_channel_affine "
     "_fake_quantize_learnable_per_channel_affine_backward "
     "quantize_per_tensor quantize_per_tensor_dynamic quantize_per_channel "
     "dequantize int_repr affine_grid_generator "
     "affine_grid_generator_backward cross linalg_cross"},
    {OpKind::kCompare,
     "eq ne lt le gt ge equal greater greater_equal less less_equal not_equal "
     "allclose isclose isfinite isin isinf isnan isneginf isposinf isreal"},
    {OpKind::kSelect,
     "where masked_fill masked_scatter masked_select _masked_scale tril triu "
     "masked_scatter_backward masked_select_backward fill_diagonal "
     "fused_elementwise"},
    {OpKind::kReduce,
     "fused_reduce sum mean prod amax amin aminmax _aminmax max min median "
     "nanmedian "
     "nanmean nansum mode quantile nanquantile kthvalue std std_mean var "
     "var_mean norm native_norm frobenius_norm nuclear_norm linalg_norm "
     "linalg_vector_norm linalg_matrix_norm norm_except_dim logsumexp "
     "special_logsumexp all any count_nonzero dist trace cosine_similarity "
     "pairwise_distance higher_order::flex_attention_delta "
     "transformer_engine::compute_amax "
     "transformer_engine::compute_scale_from_amax cdist _cdist_forward "
     "_cdist_backward _euclidean_dist "
     "pdist _pdist_forward _pdist_backward sum_to_size cov corrcoef "
     "value_selecting_reduction_backward trapezoid trapz segment_reduce "
     "_segment_reduce_backward trace_backward"},
    {OpKind::kArgReduce, "argmax argmin"},
    {OpKind::kSort,
     "sort argsort topk msort unique_dim unique_consecutive "
     "unique_dim_consecutive _unique _unique2 searchsorted bucketize histc "
     "bincount histogram"},
    {OpKind::kCumulative,
     "cumsum cumprod cummax cummin logcumsumexp _logcumsumexp "
     "_cummax_helper _cummin_helper cummaxmin_backward cumprod_backward diff "
     "cumulative_trapezoid"},
    {OpKind::kView,
     "view _unsafe_view view_as reshape reshape_as _reshape_alias permute "
     "transpose swapaxes swapdims t adjoint mT mH numpy_T matrix_H expand "
     "expand_as broadcast_to broadcast_tensors select slice squeeze unsqueeze "
     "flatten unflatten ravel split split_with_sizes unsafe_split "
     "unsafe_split_with_sizes chunk unsafe_chunk tensor_split hsplit vsplit "
     "dsplit unbind narrow diagonal linalg_diagonal as_strided detach alias "
     "movedim moveaxis unfold view_as_real view_as_complex atleast_1d "
     "atleast_2d atleast_3d _neg_view set _mkldnn_transpose _mkldnn_reshape "
     "lift_fresh lift requires_grad data values _values indices _indices "
     "meshgrid"},
    {OpKind::kCopy,
     "contiguous clone copy _copy_from _copy_from_and_resize _lazy_clone "
     "lift_fresh_copy alias_copy as_strided_copy detach_copy diagonal_copy "
     "expand_copy narrow_copy permute_copy select_copy slice_copy split_copy "
     "split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy "
     "unfold_copy unsqueeze_copy view_copy view_as_complex_copy "
     "view_as_real_copy _reshape_copy flip fliplr flipud roll rot90 "
     "channel_shuffle native_channel_shuffle pixel_shuffle pixel_unshuffle "
     "repeat tile repeat_interleave resize resize_as pin_memory _pin_memory "
     "diag diag_embed diagflat to_mkldnn to_dense mkldnn_reorder_conv2d_weight "
     "mkldnn_reorder_conv3d_weight _to_cpu _transform_bias_rescale_qkv "
     "sparse_resize to_padded_tensor _nested_from_padded "
     "_nested_tensor_from_mask flatten_dense_tensors unflatten_dense_tensors"},
    {OpKind::kCast,
     "to _to_copy type_as _autocast_to_full_precision "
     "_autocast_to_reduced_precision _cast_Byte _cast_Char _cast_Double "
     "_cast_Float _cast_Half _cast_Int _cast_Long _cast_Short chalf float half "
     "double bfloat16 long int bool _saturate_weight_to_fp16 "
     "bitsandbytes::dequantize_4bit bitsandbytes::dequantize_blockwise "
     "bitsandbytes::int8_vectorwise_quant bitsandbytes::int8_mm_dequant "
     "torchao::mxfp8_quantize torchao::triton_mx_block_rearrange "
     "transformer_engine::quantize awq::dequantize"},
    {OpKind::kConcat,
     "cat concat concatenate stack _stack hstack vstack dstack column_stack "
     "row_stack block_diag _chunk_cat cartesian_prod combinations "
     "pad_sequence _pack_padded_sequence _pad_packed_sequence "
     "_pack_padded_sequence_backward"},
    {OpKind::kPad,
     "pad constant_pad_nd _pad_circular _pad_enum reflection_pad1d "
     "reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d "
     "replication_pad3d reflection_pad1d_backward reflection_pad2d_backward "
     "reflection_pad3d_backward replication_pad1d_backward "
     "replication_pad2d_backward replication_pad3d_backward"},
    {OpKind::kUpsample,
     "upsample_nearest1d upsample_nearest2d upsample_nearest3d "
     "_upsample_nearest_exact1d _upsample_nearest_exact2d "
     "_upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d "
     "upsample_trilinear3d upsample_bicubic2d _upsample_bilinear2d_aa "
     "_upsample_bicubic2d_aa _upsample_lanczos2d_aa "
     "grid_sampler grid_sampler_2d grid_sampler_3d cudnn_grid_sampler "
     "max_unpool2d max_unpool3d"},
    {OpKind::kUpsampleBackward,
     "upsample_nearest1d_backward upsample_nearest2d_backward "
     "upsample_nearest3d_backward _upsample_nearest_exact1d_backward "
     "_upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward "
     "upsample_linear1d_backward upsample_bilinear2d_backward "
     "upsample_trilinear3d_backward upsample_bicubic2d_backward "
     "_upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa_backward "
     "grid_sampler_2d_backward grid_sampler_3d_backward "
     "cudnn_grid_sampler_backward"},
    {OpKind::kGather,
     "gather index index_select _unsafe_index _unsafe_masked_index take "
     "take_along_dim nonzero nonzero_numpy nonzero_static argwhere im2col "
     "col2im unfold_backward one_hot"},
    {OpKind::kScatter,
     "scatter scatter_add scatter_reduce index_add index_copy index_fill "
     "index_put index_reduce _index_put_impl _unsafe_index_put "
     "_unsafe_masked_index_put_accumulate put select_scatter slice_scatter "
     "diagonal_scatter as_strided_scatter select_backward slice_backward "
     "diagonal_backward index_select_backward gather_backward "
     "_gather_sparse_backward"},
    {OpKind::kFill,
     "fill zero zeros zeros_like ones ones_like full full_like empty "
     "empty_like empty_strided empty_permuted new_empty new_empty_strided "
     "new_full new_ones new_zeros _new_zeros_with_same_feature_meta "
     "scalar_tensor arange range linspace logspace eye tril_indices "
     "triu_indices tensor hann_window hamming_window blackman_window "
     "bartlett_window kaiser_window vander fft_fftfreq fft_rfftfreq "
     "_efficientzerotensor _shape_as_tensor _dim_arange"},
    {OpKind::kRandom,
     "rand rand_like randn randn_like randint randint_like randperm random "
     "normal normal_functional uniform exponential geometric log_normal "
     "cauchy bernoulli binomial multinomial poisson _standard_gamma "
     "_sample_dirichlet"},
    {OpKind::kDropout,
     "dropout native_dropout native_dropout_backward feature_dropout "
     "alpha_dropout feature_alpha_dropout _fused_dropout"},
    {OpKind::kFft,
     "fft_fft fft_fft2 fft_fftn fft_ifft fft_ifft2 fft_ifftn fft_rfft "
     "fft_rfft2 fft_rfftn fft_irfft fft_irfft2 fft_irfftn fft_hfft fft_hfft2 "
     "fft_hfftn fft_ihfft fft_ihfft2 fft_ihfftn fft_fftshift fft_ifftshift "
     "_fft_c2c _fft_c2r _fft_r2c stft istft"},
    {OpKind::kDetection,
     "torchvision::nms nms torchvision::roi_align roi_align "
     "torchvision::_roi_align_backward _roi_align_backward "
     "torchvision::roi_pool roi_pool torchvision::_roi_pool_backward "
     "torchvision::ps_roi_align ps_roi_align "
     "torchvision::_ps_roi_align_backward torchvision::ps_roi_pool "
     "ps_roi_pool torchvision::_ps_roi_pool_backward"},
    {OpKind::kLoss,
     "cross_entropy_loss nll_loss nll_loss_nd nll_loss2d nll_loss_forward "
     "nll_loss2d_forward nll_loss_backward nll_loss2d_backward mse_loss "
     "mse_loss_backward l1_loss smooth_l1_loss smooth_l1_loss_backward "
     "huber_loss huber_loss_backward binary_cross_entropy "
     "binary_cross_entropy_backward binary_cross_entropy_with_logits kl_div "
     "ctc_loss _ctc_loss _ctc_loss_backward _cudnn_ctc_loss "
     "hinge_embedding_loss "
     "margin_ranking_loss multi_margin_loss multi_margin_loss_backward "
     "multilabel_margin_loss multilabel_margin_loss_forward "
     "multilabel_margin_loss_backward soft_margin_loss "
     "soft_margin_loss_backward triplet_margin_loss cosine_embedding_loss "
     "poisson_nll_loss liger::cross_entropy"},
    {OpKind::kOptimizerUpdate,
     "_fused_adam _fused_adamw _fused_sgd _fused_adagrad "
     "bitsandbytes::optimizer_update_32bit "
     "bitsandbytes::optimizer_update_8bit_blockwise "
     "torchao::single_param_adam "
     "_amp_foreach_non_finite_check_and_unscale _amp_update_scale"},
    {OpKind::kCollective,
     "c10d::allreduce c10d::broadcast c10d::_allgather_base "
     "c10d::_reduce_scatter_base c10d::alltoall_base c10d::permute_tensor "
     "c10d::send c10d::recv offload::to_host offload::from_host "
     "offload::step offload::run"},
};

}  // namespace foretell
