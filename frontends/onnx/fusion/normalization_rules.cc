// Normalizations that exporters spell out: layer and RMS norm below the opsets
// that have them (17 and 23), group norm as an instance norm between reshapes.
//
//   layer norm  (x - mean(x)) / sqrt(mean((x - mean(x))²) + ε) · γ + β
//   RMS norm    x / sqrt(mean(x²) + ε) · γ
//   group norm  Reshape([0, groups, -1]) → InstanceNormalization(1, 0) →
//               Reshape(shape of x) · γ + β
//
// A batch norm without running statistics (`F.batch_norm(x, None, None, …,
// training=True)`, by which networks standardise their weights) still gets
// some: the mean and the variance of x, computed from a copy of its weights
// that the exporter has transposed. Their updated values are not read.
//
// γ and β belong to the norm if they are weights of the file. Axes go into the
// new node; whether they are the last ones is checked when it runs and its rank
// is known.

#include <string>
#include <utility>

#include "frontends/onnx/fusion/rules.h"
#include "frontends/onnx/reader/constants.h"

namespace foretell::onnx {
namespace {

using Name = std::string;
using Axes = std::vector<std::int64_t>;

bool IsWeight(const Body& body, const Name& name, std::size_t rank) {
  const TensorLiteral* literal = body.InitializerOf(name);
  return literal != nullptr && literal->dims.size() == rank &&
         IsFloatLiteral(*literal);
}

/// Weight and bias of a norm; "" for none.
struct AffineNames {
  Name normalized;  ///< What they are applied to.
  Name scale, bias;
};

/// Follows the last node upwards through + β and · γ; `normalized` stays empty
/// if the node is neither of these.
AffineNames TakeAffine(Match& match, const auto& is_weight) {
  AffineNames names;
  const Node* node = &match.last();
  const auto weight_of = [&](const Node& binary) -> std::optional<Name> {
    if (binary.inputs.size() != 2) return std::nullopt;
    if (is_weight(binary.inputs[1])) return binary.inputs[1];
    if (is_weight(binary.inputs[0])) return binary.inputs[0];
    return std::nullopt;
  };
  if (node->op_type == "Add") {
    const std::optional<Name> bias = weight_of(*node);
    if (!bias) return names;
    names.bias = *bias;
    node = match.Take(*Beside(*node, *bias), "Mul");
  }
  if (node != nullptr && node->op_type == "Mul") {
    const std::optional<Name> scale = weight_of(*node);
    if (!scale) return names;
    names.scale = *scale;
    names.normalized = *Beside(*node, *scale);
  }
  return names;
}

/// A mean over axes that stay as dimensions of one element.
struct Mean {
  Name of;
  Axes axes;
};

std::optional<Mean> TakeMean(Match& match, const Name& name) {
  const Node* node = match.Take(name, "ReduceMean");
  if (node == nullptr || node->inputs.empty()) return std::nullopt;
  const std::optional<Axes> axes = KeptAxesOf(match.body(), *node);
  if (!axes || axes->empty()) return std::nullopt;
  return Mean{node->inputs[0], *axes};
}

/// What `name` is the square of.
std::optional<Name> TakeSquare(Match& match, const Name& name) {
  if (const Node* pow = match.Take(name, "Pow")) {
    const bool squares =
        pow->inputs.size() == 2 && IsNumber(match.body(), pow->inputs[1], 2);
    return squares ? std::optional(pow->inputs[0]) : std::nullopt;
  }
  const Node* mul = match.Take(name, "Mul");
  if (mul == nullptr || mul->inputs.size() != 2) return std::nullopt;
  return mul->inputs[0] == mul->inputs[1] ? std::optional(mul->inputs[0])
                                          : std::nullopt;
}

/// sqrt(mean(of²) + epsilon).
struct RootMeanSquare {
  Name of;
  Axes axes;
  double epsilon = 0;
};

std::optional<RootMeanSquare> TakeRootMeanSquare(Match& match,
                                                 const Name& name) {
  const Node* root = match.Take(name, "Sqrt");
  const Node* add =
      root == nullptr ? nullptr : match.Take(root->inputs[0], "Add");
  if (add == nullptr || add->inputs.size() != 2) return std::nullopt;
  for (const Name& constant : add->inputs) {
    const std::optional<double> epsilon = NumberOf(match.body(), constant);
    if (!epsilon) continue;
    const std::optional<Mean> mean = TakeMean(match, *Beside(*add, constant));
    const std::optional<Name> of =
        mean ? TakeSquare(match, mean->of) : std::nullopt;
    if (!of) return std::nullopt;
    return RootMeanSquare{*of, mean->axes, *epsilon};
  }
  return std::nullopt;
}

/// What `name` is, minus its own mean over `axes`.
std::optional<Name> TakeCentered(Match& match, const Name& name,
                                 const Axes& axes) {
  const Node* sub = match.Take(name, "Sub");
  if (sub == nullptr || sub->inputs.size() != 2) return std::nullopt;
  const std::optional<Mean> mean = TakeMean(match, sub->inputs[1]);
  const bool fits = mean && mean->of == sub->inputs[0] && mean->axes == axes;
  return fits ? std::optional(sub->inputs[0]) : std::nullopt;
}

std::vector<Attribute> AttributesOf(const RootMeanSquare& rms) {
  return {MakeInts("axes", rms.axes), MakeFloat("epsilon", rms.epsilon)};
}

/// The root mean square of x that the node `name` divides x by.
struct NormQuotient {
  Name dividend;
  RootMeanSquare rms;
};

/// dividend / rms, or dividend · (1 / rms).
std::optional<NormQuotient> TakeQuotient(Match& match, const Node& node) {
  if (node.inputs.size() != 2) return std::nullopt;
  if (node.op_type == "Div") {
    const auto rms = TakeRootMeanSquare(match, node.inputs[1]);
    return rms ? std::optional(NormQuotient{node.inputs[0], *rms})
               : std::nullopt;
  }
  for (const Name& inverse : node.inputs) {
    Name root;
    if (const Node* reciprocal = match.Take(inverse, "Reciprocal")) {
      root = reciprocal->inputs[0];
    } else if (const Node* div = ProducerOfType(match.body(), inverse, "Div");
               div != nullptr && div->inputs.size() == 2 &&
               IsNumber(match.body(), div->inputs[0], 1)) {
      match.Take(inverse, "Div");
      root = div->inputs[1];
    } else {
      continue;
    }
    const auto rms = TakeRootMeanSquare(match, root);
    return rms ? std::optional(NormQuotient{*Beside(node, inverse), *rms})
               : std::nullopt;
  }
  return std::nullopt;
}

/// As TakeQuotient for the node that computes `name`.
std::optional<NormQuotient> TakeQuotient(Match& match, const Name& name) {
  const Node* node = match.Take(name, "Div");
  if (node == nullptr) node = match.Take(name, "Mul");
  return node == nullptr ? std::nullopt : TakeQuotient(match, *node);
}

// ---- Group norm ------------------------------------------------------------

/// Axes of size 1 that an Unsqueeze adds after [channels], as an export in
/// training mode does, which folds no weights; empty optional for others.
std::optional<std::size_t> AxesAddedTo(const Body& body, const Name& name) {
  const Node* unsqueeze = ProducerOfType(body, name, "Unsqueeze");
  if (unsqueeze == nullptr || !IsWeight(body, unsqueeze->inputs[0], 1)) {
    return std::nullopt;
  }
  const std::optional<Axes> axes = AxesOf(body, *unsqueeze);
  if (!axes || axes->empty()) return std::nullopt;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    if ((*axes)[i] != static_cast<std::int64_t>(i) + 1) return std::nullopt;
  }
  return axes->size();
}

/// Replaces γ and β by those of the file; the Unsqueeze becomes part of the
/// pattern. Returns the axes that it adds; empty optional if γ and β differ.
std::optional<std::size_t> TakeUnsqueezes(Match& match, AffineNames& affine) {
  std::optional<std::size_t> added;
  for (Name* weight : {&affine.scale, &affine.bias}) {
    if (weight->empty()) continue;
    const std::size_t axes = AxesAddedTo(match.body(), *weight).value_or(0);
    if (added.value_or(axes) != axes) return std::nullopt;
    added = axes;
    if (axes > 0) *weight = match.Take(*weight, "Unsqueeze")->inputs[0];
  }
  return added.value_or(0);
}

/// True for γ and β of a group norm: [channels, 1, …].
bool IsPerChannel(const Body& body, const Name& name) {
  if (AxesAddedTo(body, name)) return true;
  const TensorLiteral* literal = body.InitializerOf(name);
  if (literal == nullptr || literal->dims.size() < 2) return false;
  for (std::size_t i = 1; i < literal->dims.size(); ++i) {
    if (literal->dims[i] != 1) return false;
  }
  return IsWeight(body, name, literal->dims.size());
}

/// True for a Constant of one element, perhaps unsqueezed by a node: exporters
/// write 1 and 0 for a norm without γ and β.
bool IsSingle(const Body& body, const Name& name, double value) {
  const Node* unsqueeze = ProducerOfType(body, name, "Unsqueeze");
  const Name& source = unsqueeze == nullptr ? name : unsqueeze->inputs[0];
  const TensorLiteral* literal = body.LiteralOf(source);
  return literal != nullptr && body.InitializerOf(source) == nullptr &&
         literal->NumElements() == 1 && IsFilledWith(body, source, value);
}

bool IsIdentity(const Body& body, const AffineNames& names) {
  return !names.normalized.empty() && IsSingle(body, names.scale, 1) &&
         IsSingle(body, names.bias, 0);
}

/// γ and β of a group norm, perhaps those that change nothing.
AffineNames TakePerChannel(Match& match) {
  const Body& body = match.body();
  Match attempt = match;
  AffineNames constants = TakeAffine(attempt, [&](const Name& name) {
    return IsSingle(body, name, 1) || IsSingle(body, name, 0);
  });
  if (IsIdentity(body, constants)) {
    match = std::move(attempt);
    return constants;
  }
  return TakeAffine(match,
                    [&](const Name& name) { return IsPerChannel(body, name); });
}

/// True when the instance norm neither scales nor shifts, and its input is
/// reshaped to [0, groups, -1].
bool IsPlainGroups(const Body& body, const Node& norm, const Node& before) {
  if (norm.inputs.size() != 3 || before.inputs.size() != 2) return false;
  const auto shape = IntegersOf(body, before.inputs[1]);
  return shape && shape->size() == 3 && (*shape)[0] == 0 && (*shape)[1] > 0 &&
         (*shape)[2] == -1 && IntOf(before, "allowzero", 0) == 0 &&
         IsFilledWith(body, norm.inputs[1], 1) &&
         IsFilledWith(body, norm.inputs[2], 0);
}

}  // namespace

std::optional<Replacement> FuseLayerNorm(Match match) {
  AffineNames affine;
  std::optional<NormQuotient> quotient;
  if (match.last().op_type == "Div") {
    quotient = TakeQuotient(match, match.last());
  } else {
    affine = TakeAffine(match, [&](const Name& name) {
      return match.body().InitializerOf(name) != nullptr;
    });
    if (affine.normalized.empty()) return std::nullopt;
    quotient = TakeQuotient(match, affine.normalized);
  }
  if (!quotient) return std::nullopt;
  const RootMeanSquare& rms = quotient->rms;
  const std::optional<Name> x =
      TakeCentered(match, quotient->dividend, rms.axes);
  if (!x || TakeCentered(match, rms.of, rms.axes) != x) return std::nullopt;
  for (const Name& weight : {affine.scale, affine.bias}) {
    if (!weight.empty() && !IsWeight(match.body(), weight, rms.axes.size())) {
      return std::nullopt;
    }
  }
  return match.By("LayerNormalization", {*x, affine.scale, affine.bias},
                  AttributesOf(rms));
}

/// Only where `quotient` divides a value by its own root mean square and
/// `scale` is a weight.
std::optional<Replacement> ByRmsNorm(
    const Match& match, const std::optional<NormQuotient>& quotient,
    const Name& scale) {
  if (!quotient || quotient->dividend != quotient->rms.of ||
      !IsWeight(match.body(), scale, quotient->rms.axes.size())) {
    return std::nullopt;
  }
  return match.By("RmsNormalization", {quotient->dividend, scale},
                  AttributesOf(quotient->rms));
}

/// As an exporter decomposes it: the normalized value times the weight.
std::optional<Replacement> FuseRmsNorm(Match match) {
  if (match.last().inputs.size() != 2) return std::nullopt;
  const Name scale = match.last().inputs[1];
  if (match.body().InitializerOf(scale) == nullptr) return std::nullopt;
  const auto quotient = TakeQuotient(match, match.last().inputs[0]);
  return ByRmsNorm(match, quotient, scale);
}

/// As models write it: the weight times the normalized value, or no weight.
std::optional<Replacement> FuseWrittenOutRmsNorm(Match match) {
  Match plain = match;
  const auto bare = TakeQuotient(plain, plain.last());
  if (bare && bare->dividend == bare->rms.of) {
    return plain.By("RmsNormalization", {bare->dividend, ""},
                    AttributesOf(bare->rms));
  }
  const bool is_product =
      match.last().op_type == "Mul" && match.last().inputs.size() == 2;
  if (!is_product) return std::nullopt;
  const Name scale = match.last().inputs[0];
  const auto quotient = TakeQuotient(match, match.last().inputs[1]);
  return ByRmsNorm(match, quotient, scale);
}

std::optional<Replacement> FuseGroupNorm(Match match) {
  const Body& body = match.body();
  AffineNames affine;
  const Node* after = &match.last();
  if (after->op_type != "Reshape") {
    affine = TakePerChannel(match);
    after = affine.normalized.empty()
                ? nullptr
                : match.Take(affine.normalized, "Reshape");
  }
  if (after == nullptr || after->inputs.size() != 2) return std::nullopt;
  const Node* norm = match.Take(after->inputs[0], "InstanceNormalization");
  const Node* before =
      norm == nullptr ? nullptr : match.Take(norm->inputs[0], "Reshape");
  if (before == nullptr || !IsPlainGroups(body, *norm, *before) ||
      IntOf(*after, "allowzero", 0) != 0 ||
      !body.IsShapeArithmetic(after->inputs[1])) {
    return std::nullopt;
  }
  const std::optional<std::size_t> added = TakeUnsqueezes(match, affine);
  if (!added) return std::nullopt;
  const std::int64_t groups = (*IntegersOf(body, before->inputs[1]))[1];
  const bool is_identity = IsIdentity(body, affine);
  return match.By(
      "GroupNormalization",
      {before->inputs[0], affine.scale, affine.bias, after->inputs[1]},
      {MakeInt("num_groups", groups),
       MakeInt("weight_axes", static_cast<std::int64_t>(*added)),
       MakeInt("identity_weights", is_identity ? 1 : 0),
       MakeFloat("epsilon", FloatOf(*norm, "epsilon", 1e-5))});
}

std::optional<Replacement> FuseBatchStatistics(Match match) {
  constexpr std::size_t kMean = 3;
  constexpr std::size_t kVariance = 4;
  const Body& body = match.body();
  const Node& norm = match.last();
  // A network's own statistics, which training updates, are initializers, or an
  // Identity of one if exporters have merged equal ones.
  const auto is_computed = [&body](const Name& statistic) {
    return body.ProducerOf(statistic) != nullptr &&
           body.InitializerOf(statistic) == nullptr;
  };
  if (IntOf(norm, "training_mode", 0) == 0 || norm.inputs.size() != 5 ||
      !is_computed(norm.inputs[kMean]) ||
      !is_computed(norm.inputs[kVariance])) {
    return std::nullopt;
  }
  Replacement found = match.By(
      "BatchNormalization", {norm.inputs[0], norm.inputs[1], norm.inputs[2]},
      {MakeFloat("epsilon", FloatOf(norm, "epsilon", 1e-5))});
  found.node.outputs.resize(1);
  return found;
}

}  // namespace foretell::onnx
