// Attention: softmax(q · kᵀ · scale + mask) · v.
//
// PyTorch's exporters write scaled_dot_product_attention with both q and kᵀ
// multiplied by the root of the scale (so that no product overflows in half
// precision), a Boolean mask as Where(mask, 0, h), a causal one as
// Where(Trilu(ones) = 0, h, 0), and for a Boolean mask a Where around the
// softmax that turns the NaN of a row without keys into 0. h is -inf in the
// TorchScript exporter and earlier releases of onnxscript, and the lowest
// finite number of the type in onnxscript 0.7. The ones may be an initializer,
// or expanded to sizes that are constants or come from shapes; a mask of up to
// 8192 elements is folded into an initializer itself. Attention that a model
// writes out itself scales q or the scores: eager PyTorch runs it operator by
// operator, with the scores in memory, so that it is a rule of its own which is
// off by default. In the 661 networks for which a TorchScript trace is at hand,
// the first form occurs exactly as often as the trace calls
// scaled_dot_product_attention, network by network.
//
// The new node reads q, k, v, the mask, the two shapes of a transposition
// written as Reshape → Transpose → Reshape, the sizes of the triangle (whether
// they are those of the scores is known when the node runs), the sizes to which
// shared keys and values were expanded, and then the factors of the scale.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "frontends/onnx/fusion/rules.h"
#include "frontends/onnx/reader/constants.h"
#include "frontends/onnx/reader/mask.h"

namespace foretell::onnx {
namespace {

using Name = std::string;

/// Where the new node's factors begin.
constexpr std::size_t kFirstFactor = 8;

/// What is known of an attention so far.
struct Attention {
  Name query, key, value;
  /// How the new node permutes `key` to get k; empty when it is k.
  std::vector<std::int64_t> key_perm;
  /// `key` is kᵀ: the new node turns it back.
  bool key_is_transposed = false;
  /// Shapes of the two Reshape around a transposition; "" without them.
  Name folded_shape, unfolded_shape;
  /// Sizes [batch, heads of keys, queries for each, keys, features] to which
  /// key and value were expanded before the last product; "" where each query
  /// has its own.
  Name grouped_shape;
  Name mask;
  /// NaN of the softmax becomes 0.
  bool is_guarded = false;
  /// `mask` is an initializer that stands for a Boolean one.
  bool mask_is_boolean = false;
  bool is_causal = false;
  /// Sizes [queries, keys] of the triangle that is_causal stands for: a value,
  /// or numbers.
  Name triangle_shape;
  std::vector<std::int64_t> triangle_sizes;
  std::vector<Name> factors;
  std::vector<std::int64_t> factor_divides;
};

/// `name` without a factor that is known from shapes and constants, which is
/// added to `attention`; empty optional if there is no such factor.
std::optional<Name> TakeFactor(Match& match, const Name& name,
                               Attention& attention) {
  const Body& body = match.body();
  const Node* mul = ProducerOfType(body, name, "Mul");
  const Node* div = ProducerOfType(body, name, "Div");
  const Node* node = mul != nullptr ? mul : div;
  if (node == nullptr || node->inputs.size() != 2) return std::nullopt;
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
    const bool may_be_factor = mul != nullptr || i == 1;
    if (!may_be_factor || !body.IsShapeArithmetic(node->inputs[i])) continue;
    match.Take(name, node->op_type);
    attention.factors.push_back(node->inputs[i]);
    attention.factor_divides.push_back(div != nullptr);
    return node->inputs[1 - i];
  }
  return std::nullopt;
}

/// The permutation of a Transpose; empty when it is not spelled out.
std::vector<std::int64_t> PermOf(const Node& transpose) {
  const Attribute* perm = transpose.FindAttribute("perm");
  const bool is_given =
      perm != nullptr && perm->ref_attr_name.empty() && perm->ints.size() >= 2;
  return is_given ? perm->ints : std::vector<std::int64_t>();
}

/// `perm` with its last two entries exchanged; empty where that changes
/// nothing.
std::vector<std::int64_t> Untransposed(std::vector<std::int64_t> perm) {
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  const bool is_identity =
      std::is_sorted(perm.begin(), perm.end()) && perm.front() == 0;
  return is_identity ? std::vector<std::int64_t>() : perm;
}

/// The three-dimensional form of a transposition of any rank.
bool TakeFoldedTranspose(Match& match, const Name& name, Attention& attention) {
  Match attempt = match;
  const Node* unfold = attempt.Take(name, "Reshape");
  const Node* transpose = unfold == nullptr
                              ? nullptr
                              : attempt.Take(unfold->inputs[0], "Transpose");
  const std::vector<std::int64_t> swap = {0, 2, 1};
  const Node* fold = transpose == nullptr || PermOf(*transpose) != swap
                         ? nullptr
                         : attempt.Take(transpose->inputs[0], "Reshape");
  if (fold == nullptr || fold->inputs.size() != 2 ||
      unfold->inputs.size() != 2 ||
      !match.body().IsShapeArithmetic(fold->inputs[1]) ||
      !match.body().IsShapeArithmetic(unfold->inputs[1])) {
    return false;
  }
  attention.key = fold->inputs[0];
  attention.folded_shape = fold->inputs[1];
  attention.unfolded_shape = unfold->inputs[1];
  match = attempt;
  return true;
}

/// Finds k from `name`, which is kᵀ.
void TakeKey(Match& match, const Name& name, Attention& attention) {
  const Node* transpose = ProducerOfType(match.body(), name, "Transpose");
  if (transpose != nullptr && !PermOf(*transpose).empty()) {
    match.Take(name, "Transpose");
    attention.key = transpose->inputs[0];
    attention.key_perm = Untransposed(PermOf(*transpose));
  } else if (!TakeFoldedTranspose(match, name, attention)) {
    attention.key = name;
    attention.key_is_transposed = true;
  }
}

/// The Expand of Unsqueeze(2) → Expand, perhaps followed by a Reshape, that
/// computes `name`; nullptr for any other.
const Node* ExpandedHeads(const Body& body, Name name) {
  if (const Node* merged = ProducerOfType(body, name, "Reshape")) {
    name = merged->inputs[0];
  }
  const Node* expand = ProducerOfType(body, name, "Expand");
  const Node* unsqueeze =
      expand == nullptr || expand->inputs.size() != 2
          ? nullptr
          : ProducerOfType(body, expand->inputs[0], "Unsqueeze");
  constexpr std::int64_t kBehindHeads = 2;
  const bool fits = unsqueeze != nullptr &&
                    AxesOf(body, *unsqueeze) == std::vector{kBehindHeads} &&
                    body.IsShapeArithmetic(expand->inputs[1]);
  return fits ? expand : nullptr;
}

/// Takes key and value from before the repetition that the exporter writes for
/// enable_gqa. Networks that repeat heads themselves have a reshape of ATen,
/// for which it sets allowzero. Nodes that are no longer read are dropped
/// automatically.
void TakeGroups(const Body& body, Attention& attention) {
  const Node* reshape = ProducerOfType(body, attention.value, "Reshape");
  const bool is_own = reshape != nullptr &&
                      reshape->FindAttribute("allowzero") != nullptr &&
                      IntOf(*reshape, "allowzero", 1) == 0;
  if (!is_own || attention.folded_shape.empty()) return;
  const Node* key = ExpandedHeads(body, attention.key);
  const Node* value = ExpandedHeads(body, attention.value);
  if (key == nullptr || value == nullptr) return;
  attention.key = body.ProducerOf(key->inputs[0])->inputs[0];
  attention.value = body.ProducerOf(value->inputs[0])->inputs[0];
  attention.grouped_shape = key->inputs[1];
  attention.folded_shape.clear();
  attention.unfolded_shape.clear();
}

bool IsNegativeInfinity(const Body& body, const Name& name) {
  const std::optional<double> number = NumberOf(body, name);
  return number && std::isinf(*number) && *number < 0;
}

/// Notes the sizes of the matrix of ones `name`; false for any other value.
bool TakeOnes(const Body& body, const Name& name, Attention& attention) {
  if (const TensorLiteral* literal = body.LiteralOf(name)) {
    if (literal->dims.size() != 2 ||
        MaskContentOf(*literal) != MaskContent::kOnes) {
      return false;
    }
    attention.triangle_sizes = literal->dims;
    return true;
  }
  const Node* expand = ProducerOfType(body, name, "Expand");
  if (expand == nullptr || expand->inputs.size() != 2 ||
      !IsNumber(body, expand->inputs[0], 1) ||
      !body.IsShapeArithmetic(expand->inputs[1])) {
    return false;
  }
  attention.triangle_shape = expand->inputs[1];
  return true;
}

/// The matrix of which a Trilu takes the diagonal and what is below it.
std::optional<Name> LowerTriangleOf(const Body& body, const Name& name) {
  const Node* trilu = ProducerOfType(body, name, "Trilu");
  if (trilu == nullptr || IntOf(*trilu, "upper", 1) != 0) return std::nullopt;
  const bool is_shifted = trilu->inputs.size() > 1 &&
                          !trilu->inputs[1].empty() &&
                          !IsNumber(body, trilu->inputs[1], 0);
  if (is_shifted) return std::nullopt;
  return trilu->inputs[0];
}

/// Notes the triangle of Where(Trilu(ones) = 0, hidden, 0).
bool TakeCausalMask(const Body& body, Attention& attention) {
  const Node* where = ProducerOfType(body, attention.mask, "Where");
  if (where == nullptr || where->inputs.size() != 3 ||
      !IsHidden(body, where->inputs[1]) ||
      !IsNumber(body, where->inputs[2], 0)) {
    return false;
  }
  const Node* equal = ProducerOfType(body, where->inputs[0], "Equal");
  const auto triangle =
      equal == nullptr ? std::nullopt : BesideNumber(body, *equal, 0);
  const auto ones = triangle ? LowerTriangleOf(body, *triangle) : std::nullopt;
  return ones && TakeOnes(body, *ones, attention);
}

/// The same for a mask that the exporter has folded, which it does only with
/// the lowest finite number; minus infinity is what users write. With a guard
/// it stands for a Boolean mask. One whose content was not read, as it is in
/// another file, is known by the exporter's names for its own values: it makes
/// the triangle of is_causal [queries, keys] and masks from Boolean ones.
bool TakeFoldedMask(const Body& body, Attention& attention) {
  const TensorLiteral* mask = body.InitializerOf(attention.mask);
  if (mask == nullptr) return false;
  const bool holds_mask = MaskContentOf(*mask) == MaskContent::kAdditive;
  const bool is_named = IsNamedByExporter(mask->name) && mask->dims.size() > 1;
  if (!holds_mask && !is_named) return false;
  attention.mask_is_boolean = attention.is_guarded;
  if (attention.is_guarded) return false;
  const bool is_read = mask->payload == TensorLiteral::Payload::kInline;
  const bool is_causal = is_read ? !HidesByInfinity(*mask) && IsCausal(*mask)
                                 : mask->dims.size() == 2;
  if (is_causal) attention.triangle_sizes = mask->dims;
  return is_causal;
}

/// Replaces an additive mask by what it was made from. The nodes that make it
/// are not part of the pattern, since several attentions may share them.
void RecogniseMask(const Body& body, Attention& attention) {
  if (attention.mask.empty()) return;
  if (TakeCausalMask(body, attention) || TakeFoldedMask(body, attention)) {
    attention.is_causal = true;
    attention.mask.clear();
    return;
  }
  const Node* where = ProducerOfType(body, attention.mask, "Where");
  if (where == nullptr || where->inputs.size() != 3 ||
      !IsNumber(body, where->inputs[1], 0)) {
    return;
  }
  // Without the guard, a row of only lowest numbers is not a row without keys.
  const Name& hidden = where->inputs[2];
  if (attention.is_guarded ? IsHidden(body, hidden)
                           : IsNegativeInfinity(body, hidden)) {
    attention.mask = where->inputs[0];
  }
}

/// The softmax over keys from which `name` comes, through nodes without effect
/// in inference and the guard against rows without keys, which is noted.
const Node* TakeSoftmax(Match& match, Name name, bool& is_guarded) {
  if (const Node* dropout = match.Take(name, "Dropout")) {
    if (dropout->inputs.size() > 2) return nullptr;
    name = dropout->inputs[0];
  }
  if (const Node* guard = match.Take(name, "Where")) {
    if (guard->inputs.size() != 3 ||
        !IsNumber(match.body(), guard->inputs[1], 0)) {
      return nullptr;
    }
    const Node* is_nan = match.Take(guard->inputs[0], "IsNaN");
    if (is_nan == nullptr || is_nan->inputs[0] != guard->inputs[2]) {
      return nullptr;
    }
    name = guard->inputs[2];
    is_guarded = true;
  }
  const Node* softmax = match.Take(name, "Softmax");
  const std::int64_t default_axis = match.body().opset() < 13 ? 1 : -1;
  const bool is_over_keys =
      softmax != nullptr && IntOf(*softmax, "axis", default_axis) == -1;
  return is_over_keys ? softmax : nullptr;
}

/// The product of q and kᵀ that `name` comes from; it may be scaled.
const Node* TakeProduct(Match& match, const Name& name, Attention& attention) {
  Match attempt = match;
  Attention scaled = attention;
  const std::optional<Name> unscaled = TakeFactor(attempt, name, scaled);
  const Node* product = attempt.Take(unscaled.value_or(name), "MatMul");
  if (product == nullptr) return nullptr;
  match = attempt;
  attention = scaled;
  return product;
}

/// As TakeProduct, but also notes the mask on the way.
const Node* TakeScores(Match& match, const Name& name, Attention& attention) {
  const Node* add = ProducerOfType(match.body(), name, "Add");
  if (add == nullptr) return TakeProduct(match, name, attention);
  for (const Name& scores : add->inputs) {
    const std::optional<Name> mask = Beside(*add, scores);
    const Node* product =
        mask ? TakeProduct(match, scores, attention) : nullptr;
    if (product == nullptr) continue;
    match.Take(name, "Add");
    attention.mask = *mask;
    return product;
  }
  return nullptr;
}

/// Where a scale was found.
struct Scaling {
  bool of_query = false, of_key = false, of_scores = false;
};

/// The attention that ends in the last node, and where its scales are.
std::optional<std::pair<Attention, Scaling>> Recognise(Match& match) {
  const Node& last = match.last();
  if (last.inputs.size() != 2) return std::nullopt;
  Attention attention;
  Scaling scaling;
  attention.value = last.inputs[1];
  const Node* softmax =
      TakeSoftmax(match, last.inputs[0], attention.is_guarded);
  const Node* product = softmax == nullptr
                            ? nullptr
                            : TakeScores(match, softmax->inputs[0], attention);
  if (product == nullptr || product->inputs.size() != 2) return std::nullopt;
  scaling.of_scores = !attention.factors.empty();
  const auto query = TakeFactor(match, product->inputs[0], attention);
  const auto key = TakeFactor(match, product->inputs[1], attention);
  scaling.of_query = query.has_value();
  scaling.of_key = key.has_value();
  attention.query = query.value_or(product->inputs[0]);
  TakeKey(match, key.value_or(product->inputs[1]), attention);
  TakeGroups(match.body(), attention);
  RecogniseMask(match.body(), attention);
  return std::pair(std::move(attention), scaling);
}

Replacement NodeFor(const Match& match, const Attention& attention) {
  std::vector<Name> inputs(kFirstFactor);
  inputs[0] = attention.query;
  inputs[1] = attention.key;
  inputs[2] = attention.value;
  inputs[3] = attention.mask;
  inputs[4] = attention.folded_shape;
  inputs[5] = attention.unfolded_shape;
  inputs[6] = attention.triangle_shape;
  inputs[7] = attention.grouped_shape;
  inputs.insert(inputs.end(), attention.factors.begin(),
                attention.factors.end());
  return match.By("Attention", std::move(inputs),
                  {MakeInt("is_causal", attention.is_causal),
                   MakeInts("triangle_sizes", attention.triangle_sizes),
                   MakeInt("mask_is_boolean", attention.mask_is_boolean),
                   MakeInt("key_is_transposed", attention.key_is_transposed),
                   MakeInts("key_perm", attention.key_perm),
                   MakeInts("factor_divides", attention.factor_divides)});
}

}  // namespace

std::optional<Replacement> FuseExportedAttention(Match match) {
  const auto found = Recognise(match);
  if (!found) return std::nullopt;
  const auto& [attention, scaling] = *found;
  if (!scaling.of_query || !scaling.of_key || scaling.of_scores) {
    return std::nullopt;
  }
  return NodeFor(match, attention);
}

std::optional<Replacement> FuseWrittenOutAttention(Match match) {
  const auto found = Recognise(match);
  if (!found) return std::nullopt;
  return NodeFor(match, found->first);
}

}  // namespace foretell::onnx
