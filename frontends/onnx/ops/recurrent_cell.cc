#include "frontends/onnx/ops/recurrent_cell.h"
#include "src/core/numbers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace foretell::onnx {
namespace {

// ---- Activation functions --------------------------------------------------

using CellFunction = at::Tensor (*)(const at::Tensor&, double alpha,
                                    double beta);

struct ActivationRow {
  std::string_view name;  ///< Lower case: files write any.
  CellFunction function;
  std::optional<double> alpha;  ///< Default; empty when there is no alpha.
  std::optional<double> beta;
};

at::Tensor Affine(const at::Tensor& x, double alpha, double beta) {
  return x.mul(alpha).add(beta);
}
at::Tensor Elu(const at::Tensor& x, double alpha, double) {
  return at::elu(x, alpha);
}
at::Tensor AffineHardSigmoid(const at::Tensor& x, double alpha, double beta) {
  return at::clamp(x.mul(alpha).add(beta), 0, 1);
}
at::Tensor LeakyRelu(const at::Tensor& x, double alpha, double) {
  return at::leaky_relu(x, alpha);
}
at::Tensor Relu(const at::Tensor& x, double, double) { return at::relu(x); }
at::Tensor ScaledTanh(const at::Tensor& x, double alpha, double beta) {
  return at::tanh(x.mul(beta)).mul(alpha);
}
at::Tensor Sigmoid(const at::Tensor& x, double, double) {
  return at::sigmoid(x);
}
at::Tensor Softplus(const at::Tensor& x, double, double) {
  return at::softplus(x);
}
at::Tensor Softsign(const at::Tensor& x, double, double) {
  return x.div(x.abs().add(1));
}
at::Tensor Tanh(const at::Tensor& x, double, double) { return at::tanh(x); }
at::Tensor ThresholdedRelu(const at::Tensor& x, double alpha, double) {
  return at::threshold(x, alpha, 0);
}

constexpr std::optional<double> kNoParameter;

constexpr std::array<ActivationRow, 11> kActivations = {{
    // name             function          alpha         beta
    {"affine", &Affine, 1.0, 0.0},
    {"elu", &Elu, 1.0, kNoParameter},
    {"hardsigmoid", &AffineHardSigmoid, 0.2, 0.5},
    {"leakyrelu", &LeakyRelu, 0.01, kNoParameter},
    {"relu", &Relu, kNoParameter, kNoParameter},
    {"scaledtanh", &ScaledTanh, 1.0, 1.0},
    {"sigmoid", &Sigmoid, kNoParameter, kNoParameter},
    {"softplus", &Softplus, kNoParameter, kNoParameter},
    {"softsign", &Softsign, kNoParameter, kNoParameter},
    {"tanh", &Tanh, kNoParameter, kNoParameter},
    {"thresholdedrelu", &ThresholdedRelu, 1.0, kNoParameter},
}};

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return text;
}

// ---- Steps -----------------------------------------------------------------

/// Applies activation `i` to a clipped input.
at::Tensor Activate(const RecurrentCell& cell, size_t i, const at::Tensor& x) {
  if (cell.clip <= 0) return cell.activations[i](x);
  return cell.activations[i](at::clamp(x, -cell.clip, cell.clip));
}

std::optional<at::Tensor> Rows(const at::Tensor& bias, std::int64_t first,
                               std::int64_t last) {
  if (!bias.defined()) return std::nullopt;
  return bias.slice(0, first, last);
}

at::Tensor StepRnn(const RecurrentCell& c, const at::Tensor& projected,
                   const at::Tensor& hidden) {
  const at::Tensor recurrent = at::linear(
      hidden, c.recurrent_weight, Rows(c.recurrent_bias, 0, hidden.size(1)));
  return Activate(c, 0, projected.add(recurrent));
}

at::Tensor StepGru(const RecurrentCell& c, const at::Tensor& projected,
                   const at::Tensor& hidden) {
  const std::int64_t h = hidden.size(1);
  const at::Tensor gates =
      projected.slice(1, 0, 2 * h)
          .add(at::linear(hidden, c.recurrent_weight.slice(0, 0, 2 * h),
                          Rows(c.recurrent_bias, 0, 2 * h)));
  const at::Tensor update = Activate(c, 0, gates.slice(1, 0, h));
  const at::Tensor reset = Activate(c, 0, gates.slice(1, h, 2 * h));
  const at::Tensor weight = c.recurrent_weight.slice(0, 2 * h, 3 * h);
  const auto bias = Rows(c.recurrent_bias, 2 * h, 3 * h);
  const at::Tensor recurrent =
      c.linear_before_reset ? reset.mul(at::linear(hidden, weight, bias))
                            : at::linear(reset.mul(hidden), weight, bias);
  const at::Tensor candidate =
      Activate(c, 1, projected.slice(1, 2 * h, 3 * h).add(recurrent));
  return candidate.add(update.mul(hidden.sub(candidate)));
}

RecurrentState StepLstm(const RecurrentCell& c, const at::Tensor& projected,
                        const RecurrentState& state) {
  const std::int64_t h = state.hidden.size(1);
  const at::Tensor gates = projected.add(at::linear(
      state.hidden, c.recurrent_weight, Rows(c.recurrent_bias, 0, 4 * h)));
  const auto gate = [&](std::int64_t k) {
    return gates.slice(1, k * h, (k + 1) * h);
  };
  const auto peep = [&](std::int64_t k, const at::Tensor& x,
                        const at::Tensor& content) {
    if (!c.peepholes.defined()) return x;
    return x.add(content.mul(c.peepholes.slice(0, k * h, (k + 1) * h)));
  };
  const at::Tensor input = Activate(c, 0, peep(0, gate(0), state.cell));
  const at::Tensor forget = c.couples_input_and_forget
                                ? input.neg().add(1)
                                : Activate(c, 0, peep(2, gate(2), state.cell));
  const at::Tensor candidate = Activate(c, 1, gate(3));
  const at::Tensor content = forget.mul(state.cell).add(input.mul(candidate));
  const at::Tensor output = Activate(c, 0, peep(1, gate(1), content));
  return {.hidden = output.mul(Activate(c, 2, content)), .cell = content};
}

}  // namespace

std::int64_t NumGates(RecurrentCellKind kind) {
  switch (kind) {
    case RecurrentCellKind::kRnn:
      return 1;
    case RecurrentCellKind::kGru:
      return 3;
    case RecurrentCellKind::kLstm:
      return 4;
  }
  return 0;
}

RecurrentState Step(const RecurrentCell& cell, const at::Tensor& projected,
                    const RecurrentState& state) {
  switch (cell.kind) {
    case RecurrentCellKind::kRnn:
      return {.hidden = StepRnn(cell, projected, state.hidden)};
    case RecurrentCellKind::kGru:
      return {.hidden = StepGru(cell, projected, state.hidden)};
    case RecurrentCellKind::kLstm:
      return StepLstm(cell, projected, state);
  }
  return state;
}

ActivationReader::ActivationReader(const NodeContext& ctx,
                                   std::vector<std::string> defaults,
                                   std::int64_t num_directions)
    : ctx_(ctx), per_direction_(defaults.size()) {
  for (std::int64_t d = 0; d < num_directions; ++d) {
    names_.insert(names_.end(), defaults.begin(), defaults.end());
  }
  const std::vector<std::string> usual = names_;
  if (ctx.HasAttribute("activations")) {
    names_ =
        ctx.RequireAttribute("activations", Attribute::Kind::kStrings).strings;
    for (std::string& name : names_) name = LowerCase(name);
  }
  if (names_.size() < usual.size()) {
    ctx.Fail(ErrorCode::kCorrupt, "activations has {}, expected {}",
             Counted(names_.size(), "element"), usual.size());
  }
  names_.resize(usual.size());
  is_default_ = names_ == usual;
  alphas_ = ctx.FloatsAttribute("activation_alpha", {});
  betas_ = ctx.FloatsAttribute("activation_beta", {});
}

std::vector<RecurrentActivation> ActivationReader::Next() {
  std::vector<RecurrentActivation> activations;
  for (size_t i = 0; i < per_direction_; ++i) {
    activations.push_back(Make(names_[next_name_++]));
  }
  return activations;
}

RecurrentActivation ActivationReader::Make(const std::string& name) {
  const auto* row = std::find_if(
      kActivations.begin(), kActivations.end(),
      [&](const ActivationRow& candidate) { return candidate.name == name; });
  if (row == kActivations.end()) {
    ctx_.Fail(ErrorCode::kUnsupported, "activation '{}'", name);
  }
  const auto parameter = [](const std::optional<double>& fallback,
                            const std::vector<double>& given, size_t& next) {
    if (!fallback) return 0.0;
    return next < given.size() ? given[next++] : *fallback;
  };
  const double alpha = parameter(row->alpha, alphas_, next_alpha_);
  const double beta = parameter(row->beta, betas_, next_beta_);
  return [function = row->function, alpha, beta](const at::Tensor& x) {
    return function(x, alpha, beta);
  };
}

}  // namespace foretell::onnx
