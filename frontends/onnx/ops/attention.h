#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "frontends/onnx/node_context.h"

/// Building blocks of attention, shared by ai.onnx and com.microsoft.
namespace foretell::onnx {

/// [batch, sequence, heads · size] → [batch, heads, sequence, size] (a view).
/// Throws kCorrupt when `heads` does not divide the last dimension.
at::Tensor SplitHeads(const NodeContext& ctx, const at::Tensor& x,
                      std::int64_t heads);
/// Inverse of SplitHeads.
at::Tensor MergeHeads(const at::Tensor& x);

/// Which keys a query may attend, before any mask of the node.
struct Visibility {
  bool is_causal = false;
  std::int64_t left_window = -1;   ///< Keys before the query; -1: all.
  std::int64_t right_window = -1;  ///< Keys after the query; -1: all.
  /// Keys that precede the first query.
  std::int64_t offset = 0;
  /// Instead of `offset`: valid keys of each batch element, int64 [batch]; the
  /// last query sits on the last of them. May be undefined.
  at::Tensor valid_keys;

  bool HidesNothing() const {
    return !is_causal && left_window < 0 && right_window < 0 &&
           !valid_keys.defined();
  }
  /// True if it equals the is_causal flag of at::scaled_dot_product_attention.
  bool IsPlainCausal() const {
    return is_causal && offset == 0 && left_window < 0 && right_window < 0 &&
           !valid_keys.defined();
  }
};

/// One attention over [batch, heads, sequence, size] tensors. Fewer heads of
/// keys than of queries are shared by neighbouring query heads.
struct AttentionRequest {
  at::Tensor query, key, value;
  /// Boolean (true: attend) or added to the scores; broadcast from the right,
  /// and shorter than the keys if the rest is masked. May be undefined.
  at::Tensor mask;
  Visibility visibility;
  std::optional<double> scale;  ///< Default 1 / √size.
};

/// at::scaled_dot_product_attention of the request. Queries that may attend no
/// key give zeros.
at::Tensor Attend(const AttentionRequest& request);

/// Options that only the explicit form of attention supports.
struct ExplicitOptions {
  double softcap = 0;  ///< c · tanh(scores / c); 0: none.
  std::optional<at::ScalarType> softmax_type;
  /// Which scores to return: 0 the products, 1 after softcap, 2 after the mask,
  /// 3 the probabilities.
  std::int64_t scores_mode = 0;
};

struct ExplicitResult {
  at::Tensor output;
  at::Tensor scores;
};

/// The request by two matrix products and a softmax.
ExplicitResult AttendExplicitly(const AttentionRequest& request,
                                const ExplicitOptions& options);

/// Rotary position embedding.
struct Rotation {
  /// [sequence, half] or [batch, sequence, half], for the positions of x.
  at::Tensor cos, sin;
  bool is_interleaved = false;  ///< Pairs are neighbours instead of halves.
};

/// Rotates the first 2 · half elements of each head of `x` [batch, heads,
/// sequence, size] and leaves the rest.
at::Tensor Rotate(const at::Tensor& x, const Rotation& rotation);

}  // namespace foretell::onnx
