// Namespaces are an allow-list. Of aten's private operators, which begin with
// an underscore and check little, only those are allowed that exporters write.
// Of the others, the few that reach outside the process, that do not look at
// what they are given, or whose loops need not end, are refused by name.

#include "frontends/shared/allowed_operators.h"

#include <algorithm>
#include <iterator>

namespace foretell {
namespace {

constexpr std::string_view kNamespaces[] = {"aten", "prim", "torchvision"};

/// Private operators of aten that files name. Those with two underscores are
/// Python's own: __getitem__, __and__.
constexpr std::string_view kPrivate[] = {
    "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d",
    "_assert_async",
    "_assert_scalar",
    "_assert_tensor_metadata",
    "_cast_Double",
    "_cast_Float",
    "_cast_Half",
    "_cast_Int",
    "_cast_Long",
    "_cdist_forward",
    "_convolution",
    "_convolution_mode",
    "_embedding_bag",
    "_euclidean_dist",
    "_fft_c2c",
    "_fft_c2r",
    "_fft_r2c",
    "_get_tracing_state",
    "_grouped_mm",
    "_infer_size",
    "_local_scalar_dense",
    "_log_softmax",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training",
    "_native_multi_head_attention",
    "_nested_tensor_from_mask",
    "_nested_tensor_from_mask_left_aligned",
    "_pack_padded_sequence",
    "_pad_packed_sequence",
    "_pdist_forward",
    "_scaled_dot_product_attention_math",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_fused_attention_overrideable",
    "_set_item",
    "_shape_as_tensor",
    "_softmax",
    "_to_copy",
    "_transformer_encoder_layer_fwd",
    "_trilinear",
    "_unsafe_index",
    "_unsafe_index_put",
    "_unsafe_view",
    "_unwrap_optional",
    "_upsample_bicubic2d_aa",
    "_upsample_bilinear2d_aa",
    "_upsample_lanczos2d_aa",
    "_upsample_nearest_exact1d",
    "_upsample_nearest_exact2d",
    "_upsample_nearest_exact3d",
    "_weight_norm",
    "_weight_norm_interface"};

/// Operators of the allowed namespaces that read or write files or standard
/// streams, start other processes, call Python, or end the process; that
/// compute with what they are given unseen; and those whose loops numbers
/// decide, without end for NaN.
constexpr std::string_view kRefused[] = {
    "aten::binomial",      "aten::fractional_max_pool2d_backward",
    "aten::from_file",     "aten::load",
    "aten::record_stream", "aten::reflection_pad1d_backward",
    "aten::save",          "aten::segment_reduce",
    "prim::PythonOp",      "prim::awaitable",
    "prim::fork",          "prim::rpc_async",
    "prim::rpc_remote",    "prim::rpc_sync"};

/// Begins the last part of the names of special_laguerre_polynomial_l and its
/// kin, each of which makes as many steps as a number among its arguments says.
constexpr std::string_view kPolynomial = "_polynomial_";

template <typename Table>
bool IsIn(const Table& table, std::string_view name) {
  return std::ranges::find(table, name) != std::end(table);
}

}  // namespace

bool IsAllowedOperator(std::string_view name) {
  const std::size_t colons = name.find("::");
  if (colons == std::string_view::npos) return false;
  const std::string_view space = name.substr(0, colons);
  const std::string_view rest = name.substr(colons + 2);
  if (!IsIn(kNamespaces, space) || IsIn(kRefused, name)) return false;
  if (rest.find(kPolynomial) != std::string_view::npos) return false;
  return space != "aten" || !rest.starts_with('_') || rest.starts_with("__") ||
         IsIn(kPrivate, rest);
}

}  // namespace foretell
