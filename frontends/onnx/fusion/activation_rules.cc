// Activations of one input x that exporters spell out.
//
// GELU is x · ½ · (1 + erf(x / √2)), or with tanh(√(2/π) · (x + 0.044715 x³))
// instead of erf. PyTorch's exporters multiply by ½ last, models that spell
// GELU out themselves write (½ · x) · (…), which eager PyTorch runs as it is
// written: so the two groupings are two rules.

#include <numbers>
#include <string>
#include <utility>

#include "frontends/onnx/fusion/rules.h"

namespace foretell::onnx {
namespace {

using Name = std::string;

constexpr double kCubeFactor = 0.044715;
const double kSqrtTwoOverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;

/// `name` is x / √2, or x times its inverse.
bool TakeScaledByRootTwo(Match& match, const Name& name, const Name& x) {
  if (const Node* div = match.Take(name, "Div")) {
    return div->inputs.size() == 2 && div->inputs[0] == x &&
           IsNumber(match.body(), div->inputs[1], std::numbers::sqrt2);
  }
  const Node* mul = match.Take(name, "Mul");
  return mul != nullptr &&
         BesideNumber(match.body(), *mul, 1 / std::numbers::sqrt2) == x;
}

/// `name` is x³.
bool TakeCube(Match& match, const Name& name, const Name& x) {
  if (const Node* pow = match.Take(name, "Pow")) {
    return pow->inputs.size() == 2 && pow->inputs[0] == x &&
           IsNumber(match.body(), pow->inputs[1], 3);
  }
  const Node* mul = match.Take(name, "Mul");
  const std::optional<Name> square =
      mul == nullptr ? std::nullopt : Beside(*mul, x);
  if (!square) return false;
  const Node* inner = match.Take(*square, "Mul");
  return inner != nullptr && Beside(*inner, x) == x;
}

/// `name` is √(2/π) · (x + 0.044715 · x³).
bool TakeTanhArgument(Match& match, const Name& name, const Name& x) {
  const Body& body = match.body();
  const Node* scaled = match.Take(name, "Mul");
  if (scaled == nullptr) return false;
  const std::optional<Name> sum = BesideNumber(body, *scaled, kSqrtTwoOverPi);
  const Node* add = sum ? match.Take(*sum, "Add") : nullptr;
  const std::optional<Name> term =
      add == nullptr ? std::nullopt : Beside(*add, x);
  const Node* weighted = term ? match.Take(*term, "Mul") : nullptr;
  if (weighted == nullptr) return false;
  const std::optional<Name> cube = BesideNumber(body, *weighted, kCubeFactor);
  return cube && TakeCube(match, *cube, x);
}

/// Which GELU of x has `name` as its factor 1 + …; nullptr for none.
const char* TakeGate(Match& match, const Name& name, const Name& x) {
  const Node* add = match.Take(name, "Add");
  const std::optional<Name> curve =
      add == nullptr ? std::nullopt : BesideNumber(match.body(), *add, 1);
  if (!curve) return nullptr;
  if (const Node* erf = match.Take(*curve, "Erf")) {
    return TakeScaledByRootTwo(match, erf->inputs[0], x) ? "none" : nullptr;
  }
  const Node* tanh = match.Take(*curve, "Tanh");
  const bool fits =
      tanh != nullptr && TakeTanhArgument(match, tanh->inputs[0], x);
  return fits ? "tanh" : nullptr;
}

/// GELU when one of the names is x and the other its gate.
std::optional<Replacement> GeluOf(const Match& match, const Name& a,
                                  const Name& b) {
  for (const auto& [x, gate] : {std::pair(a, b), std::pair(b, a)}) {
    Match attempt = match;
    if (const char* approximate = TakeGate(attempt, gate, x)) {
      return attempt.By("Gelu", {x}, {MakeString("approximate", approximate)});
    }
  }
  return std::nullopt;
}

/// The operand of the last node that is a Clip(x + 3, 0, 6), perhaps divided
/// by 6; the other operand is x.
bool TakeClip(Match& match, const Name& name, const Name& x) {
  const Body& body = match.body();
  const Node* clip = match.Take(name, "Clip");
  if (clip == nullptr) return false;
  const bool has_inputs = clip->inputs.size() == 3;
  const bool is_relu6 = has_inputs ? IsNumber(body, clip->inputs[1], 0) &&
                                         IsNumber(body, clip->inputs[2], 6)
                                   : clip->inputs.size() == 1 &&
                                         FloatOf(*clip, "min", -1) == 0 &&
                                         FloatOf(*clip, "max", -1) == 6;
  const Node* add = is_relu6 ? match.Take(clip->inputs[0], "Add") : nullptr;
  return add != nullptr && BesideNumber(body, *add, 3) == x;
}

/// The operand that a node divides by six, if it does.
std::optional<Name> DividedBySix(const Body& body, const Node& node) {
  if (node.op_type == "Mul") return BesideNumber(body, node, 1.0 / 6);
  const bool divides = node.op_type == "Div" && node.inputs.size() == 2 &&
                       IsNumber(body, node.inputs[1], 6);
  return divides ? std::optional(node.inputs[0]) : std::nullopt;
}

/// x · Clip(x + 3, 0, 6), whose operands are `a` and `b`.
std::optional<Replacement> HardSwishOf(const Match& match, const Name& a,
                                       const Name& b) {
  for (const auto& [x, clip] : {std::pair(a, b), std::pair(b, a)}) {
    Match attempt = match;
    if (TakeClip(attempt, clip, x)) return attempt.By("HardSwish", {x});
  }
  return std::nullopt;
}

/// x · f(x) with `op_type` as f.
std::optional<Name> TakeGatedBy(Match& match, const char* op_type,
                                const Node** gate) {
  for (const Name& name : match.last().inputs) {
    const Node* node = ProducerOfType(match.body(), name, op_type);
    if (node == nullptr || node->inputs.empty()) continue;
    const std::optional<Name> x = Beside(match.last(), name);
    if (!x) continue;
    *gate = match.Take(name, op_type);
    return *gate == nullptr ? std::nullopt : x;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Replacement> FuseGelu(Match match) {
  const std::optional<Name> product =
      BesideNumber(match.body(), match.last(), 0.5);
  const Node* mul = product ? match.Take(*product, "Mul") : nullptr;
  if (mul == nullptr || mul->inputs.size() != 2) return std::nullopt;
  return GeluOf(match, mul->inputs[0], mul->inputs[1]);
}

std::optional<Replacement> FuseRegroupedGelu(Match match) {
  const std::vector<Name> operands = match.last().inputs;
  for (const Name& halved : operands) {
    Match attempt = match;
    const Node* mul = attempt.Take(halved, "Mul");
    const std::optional<Name> inner =
        mul == nullptr ? std::nullopt : BesideNumber(match.body(), *mul, 0.5);
    const std::optional<Name> other = Beside(match.last(), halved);
    if (!inner || !other) continue;
    if (auto found = GeluOf(attempt, *inner, *other)) return found;
  }
  return std::nullopt;
}

std::optional<Replacement> FuseSilu(Match match) {
  const Node* sigmoid = nullptr;
  const std::optional<Name> x = TakeGatedBy(match, "Sigmoid", &sigmoid);
  if (!x || sigmoid->inputs[0] != *x) return std::nullopt;
  return match.By("Silu", {*x});
}

std::optional<Replacement> FuseMish(Match match) {
  const Node* tanh = nullptr;
  const std::optional<Name> x = TakeGatedBy(match, "Tanh", &tanh);
  const Node* softplus = x ? match.Take(tanh->inputs[0], "Softplus") : nullptr;
  if (softplus == nullptr || softplus->inputs[0] != *x) return std::nullopt;
  return match.By("Mish", {*x});
}

std::optional<Replacement> FuseSoftplus(Match match) {
  constexpr double kThreshold = 20;  // PyTorch's default.
  const Node& where = match.last();
  if (where.inputs.size() != 3) return std::nullopt;
  const Name& x = where.inputs[1];
  const Node* greater = match.Take(where.inputs[0], "Greater");
  const Node* curve = match.Take(where.inputs[2], "Softplus");
  const bool fits = greater != nullptr && curve != nullptr &&
                    curve->inputs[0] == x && greater->inputs.size() == 2 &&
                    greater->inputs[0] == x &&
                    IsNumber(match.body(), greater->inputs[1], kThreshold);
  return fits ? std::optional(match.By("Softplus", {x})) : std::nullopt;
}

std::optional<Replacement> FuseHardSwish(Match match) {
  constexpr double kTolerance = 1e-6;
  const Node* gate = nullptr;
  const std::optional<Name> x = TakeGatedBy(match, "HardSigmoid", &gate);
  if (!x || gate->inputs[0] != *x) return std::nullopt;
  const double alpha = FloatOf(*gate, "alpha", 0.2);
  const bool is_sixth = alpha > 1.0 / 6 - kTolerance &&
                        alpha < 1.0 / 6 + kTolerance &&
                        FloatOf(*gate, "beta", 0.5) == 0.5;
  if (!is_sixth) return std::nullopt;
  return match.By("HardSwish", {*x});
}

std::optional<Replacement> FuseClippedHardSwish(Match match) {
  const Body& body = match.body();
  // (x · clip) / 6
  if (const auto product = DividedBySix(body, match.last())) {
    const Node* mul = match.Take(*product, "Mul");
    if (mul == nullptr || mul->inputs.size() != 2) return std::nullopt;
    return HardSwishOf(match, mul->inputs[0], mul->inputs[1]);
  }
  if (match.last().op_type != "Mul") return std::nullopt;
  // x · (clip / 6)
  const std::vector<Name> operands = match.last().inputs;
  for (const Name& sixth : operands) {
    Match attempt = match;
    const Node* node = attempt.Take(sixth, "Div");
    if (node == nullptr) node = attempt.Take(sixth, "Mul");
    const std::optional<Name> clip =
        node == nullptr ? std::nullopt : DividedBySix(body, *node);
    const std::optional<Name> x = Beside(match.last(), sixth);
    if (clip && x && TakeClip(attempt, *clip, *x)) {
      return attempt.By("HardSwish", {*x});
    }
  }
  return std::nullopt;
}

}  // namespace foretell::onnx
