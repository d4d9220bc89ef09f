// Recurrent layers.
//
// A layer with the usual activations is one call of at::lstm, at::gru or
// at::rnn_*, as eager code makes it. ATen orders the gates differently (LSTM
// ifco, GRU rzh instead of ONNX's iofc, zrh), so weights are reordered first;
// that stands for how the network stores them and is not part of a trace. On
// the meta device, where the order means nothing, it is left out.
//
// Everything else (peepholes, clipping, other activations, sequences of
// different lengths, a GRU that resets before its matrix) runs step by step.
#include <ATen/ATen.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "foretell/graph.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/recurrent.h"
#include "frontends/onnx/ops/recurrent_cell.h"
#include "frontends/onnx/ops/type_support.h"
#include "src/core/numbers.h"
#include "src/program/recorder.h"

namespace foretell::onnx {
namespace {

/// Inputs of a node of ai.onnx; a fused one has its weights after them.
constexpr size_t kOnnxInputs = 8;

/// Longest sequence that is run step by step.
constexpr std::int64_t kMaxSteps = 100000;

/// A node's inputs and attributes. Shapes with layout 0: x [T, N, input size],
/// states [D, N, H]; with layout 1 the batch N comes first.
struct Layer {
  RecurrentCellKind kind = RecurrentCellKind::kRnn;
  at::Tensor x, weight, recurrent_weight, bias, lengths, peepholes;
  at::Tensor initial_hidden, initial_cell;
  /// Of a fused node, in ATen's order: by direction the weights for the input
  /// and the state, perhaps two biases. Then `weight` and `recurrent_weight`
  /// are undefined.
  std::vector<at::Tensor> own;
  std::string direction;
  std::int64_t directions = 1;
  std::int64_t hidden = 0;
  bool batch_first = false;
  double clip = 0;
  bool couples_input_and_forget = false;
  bool linear_before_reset = false;
  bool trains = false;  ///< cuDNN keeps what the backward pass needs.

  std::int64_t steps() const { return x.size(batch_first ? 1 : 0); }
  std::int64_t batch() const { return x.size(batch_first ? 0 : 1); }
  std::int64_t own_of_direction() const { return std::ssize(own) / directions; }
};

/// All hidden states [T, N, D · H] (or [N, T, D · H] with batch_first) and the
/// final ones [D, N, H].
struct LayerResult {
  at::Tensor all, hidden, cell;
};

// ---- Reading ---------------------------------------------------------------

/// True when every sequence is as long as the tensor, so that lengths change
/// nothing.
bool AllFull(NodeContext& ctx, size_t input, std::int64_t steps) {
  if (!ctx.IsHost(input)) return false;
  const std::vector<std::int64_t> lengths = ctx.Ints(input);
  return std::all_of(lengths.begin(), lengths.end(),
                     [steps](std::int64_t length) { return length >= steps; });
}

void CheckOwn(const NodeContext& ctx, const Layer& layer) {
  constexpr std::int64_t kWithoutBiases = 2, kWithBiases = 4;
  const std::int64_t count = std::ssize(layer.own);
  ctx.Check(count == kWithoutBiases * layer.directions ||
                count == kWithBiases * layer.directions,
            "{} for {} directions", Counted(count, "weight"), layer.directions);
  const std::int64_t rows = NumGates(layer.kind) * layer.hidden;
  for (std::size_t i = 0; i < layer.own.size(); ++i) {
    const at::Tensor& weight = layer.own[i];
    const auto place = static_cast<std::int64_t>(i) % layer.own_of_direction();
    const std::int64_t columns = place == 0 ? layer.x.size(2) : layer.hidden;
    ctx.Check(weight.dim() == (place < 2 ? 2 : 1) && weight.size(0) == rows &&
                  (place >= 2 || weight.size(1) == columns),
              "weight {} does not match {} and {}", i, Counted(rows, "row"),
              Counted(columns, "column"));
  }
}

void CheckLayer(const NodeContext& ctx, const Layer& layer) {
  if (layer.direction != "forward" && layer.direction != "reverse" &&
      layer.direction != "bidirectional") {
    FailAttribute(ctx, "direction", layer.direction);
  }
  const std::int64_t hidden = ctx.IntAttribute("hidden_size", layer.hidden);
  ctx.Check(hidden == layer.hidden,
            "hidden_size is {}, expected {}, the hidden size of R", hidden,
            layer.hidden);
  if (!layer.own.empty()) {
    ctx.Check(layer.x.dim() == 3, "X does not have rank 3");
    CheckOwn(ctx, layer);
    return;
  }
  const std::int64_t rows = NumGates(layer.kind) * layer.hidden;
  ctx.Check(layer.x.dim() == 3 && layer.weight.dim() == 3 &&
                layer.recurrent_weight.dim() == 3,
            "X, W and R do not all have rank 3");
  ctx.Check(layer.weight.size(0) == layer.directions &&
                layer.weight.size(1) == rows &&
                layer.weight.size(2) == layer.x.size(2),
            "W has {} for input size {}, expected {}",
            Counted(layer.weight.size(1), "row"), layer.x.size(2), rows);
  ctx.Check(layer.recurrent_weight.size(0) == layer.directions &&
                layer.recurrent_weight.size(1) == rows,
            "R has {}, expected {}",
            Counted(layer.recurrent_weight.size(1), "row"), rows);
}

Layer ReadLayer(NodeContext& ctx, RecurrentCellKind kind,
                const LstmWeights& given) {
  Layer layer{.kind = kind,
              .x = ctx.Tensor(0),
              .weight = given.input,
              .recurrent_weight = given.recurrent,
              .bias = ctx.OptionalTensor(3),
              .initial_hidden = ctx.OptionalTensor(5)};
  layer.direction = ctx.StringAttribute("direction", "forward");
  layer.directions = layer.direction == "bidirectional" ? 2 : 1;
  layer.batch_first = ctx.IntAttribute("layout", 0) != 0;
  layer.clip = ctx.FloatAttribute("clip", 0);
  const bool has_own = !given.recurrent.defined();
  for (size_t i = kOnnxInputs; has_own && i < ctx.num_inputs(); ++i) {
    layer.own.push_back(ctx.Tensor(i));
  }
  ctx.Check(!has_own || !layer.own.empty(), "input 2 is absent");
  layer.hidden =
      has_own ? ctx.IntAttribute("hidden_size", 0) : given.recurrent.size(-1);
  layer.trains = ctx.IsTraining();
  layer.linear_before_reset = ctx.IntAttribute("linear_before_reset", 0) != 0;
  if (kind == RecurrentCellKind::kLstm) {
    layer.initial_cell = ctx.OptionalTensor(6);
    layer.peepholes = ctx.OptionalTensor(7);
    layer.couples_input_and_forget = ctx.IntAttribute("input_forget", 0) != 0;
  }
  CheckLayer(ctx, layer);
  if (ctx.Has(4) && !AllFull(ctx, 4, layer.steps())) {
    layer.lengths = CastTo(ctx.Tensor(4), at::kLong);
  }
  return layer;
}

/// The given state as [D, N, H], or zeros.
at::Tensor StateOrZeros(const Layer& layer, const at::Tensor& state) {
  if (!state.defined()) {
    return at::zeros({layer.directions, layer.batch(), layer.hidden},
                     layer.x.options());
  }
  return layer.batch_first ? state.transpose(0, 1) : state;
}

// ---- One call --------------------------------------------------------------

/// Rows of a weight or bias from ONNX's order of gates to ATen's.
at::Tensor Reordered(RecurrentCellKind kind, const at::Tensor& rows,
                     std::int64_t h) {
  if (kind == RecurrentCellKind::kRnn || rows.is_meta()) return rows;
  const auto gate = [&](std::int64_t k) {
    return rows.slice(0, k * h, (k + 1) * h);
  };
  if (kind == RecurrentCellKind::kGru)
    return at::cat({gate(1), gate(0), gate(2)});
  return at::cat({gate(0), gate(2), gate(3), gate(1)});
}

/// Weight or bias of direction `d`: as many rows as the gates have, starting at
/// `first`. A parameter of its own, but work of the graph if the graph computes
/// `all`.
at::Tensor AtenWeight(const Layer& layer, const at::Tensor& all, std::int64_t d,
                      std::int64_t first = 0) {
  Recorder* recorder = Recorder::Current();
  std::optional<UnrecordedScope> unrecorded;
  if (recorder == nullptr || !recorder->IsResult(all)) {
    unrecorded.emplace(TensorRole::kParameter);
  }
  const std::int64_t rows = NumGates(layer.kind) * layer.hidden;
  at::Tensor part = all.select(0, d);
  if (part.size(0) != rows) part = part.slice(0, first, first + rows);
  return Reordered(layer.kind, part, layer.hidden);
}

/// Weights of all directions as ATen's list: input, recurrent and the two
/// biases of the first direction, then of the second.
std::vector<at::Tensor> AtenWeights(const Layer& layer) {
  const std::int64_t rows = NumGates(layer.kind) * layer.hidden;
  std::vector<at::Tensor> weights;
  const std::int64_t own = layer.own_of_direction();
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    if (own > 0) {
      const auto first = layer.own.begin() + d * own;
      weights.insert(weights.end(), first, first + own);
    } else {
      weights.push_back(AtenWeight(layer, layer.weight, d));
      weights.push_back(AtenWeight(layer, layer.recurrent_weight, d));
    }
    if (!layer.bias.defined()) continue;
    weights.push_back(AtenWeight(layer, layer.bias, d));
    weights.push_back(AtenWeight(layer, layer.bias, d, rows));
  }
  return weights;
}

LayerResult RunAtOnce(const Layer& layer, bool uses_relu) {
  const bool reverse = layer.direction == "reverse";
  const std::int64_t time = layer.batch_first ? 1 : 0;
  const at::Tensor x = reverse ? at::flip(layer.x, {time}) : layer.x;
  const std::vector<at::Tensor> weights = AtenWeights(layer);
  const at::Tensor hidden =
      StateOrZeros(layer, layer.initial_hidden).contiguous();
  const bool biases = layer.bias.defined() || layer.own_of_direction() > 2;
  const bool bidirectional = layer.directions == 2;
  LayerResult r;
  if (layer.kind == RecurrentCellKind::kLstm) {
    const at::Tensor cell =
        StateOrZeros(layer, layer.initial_cell).contiguous();
    std::tie(r.all, r.hidden, r.cell) =
        at::lstm(x, {hidden, cell}, weights, biases, /*num_layers=*/1,
                 /*dropout=*/0, layer.trains, bidirectional, layer.batch_first);
  } else if (layer.kind == RecurrentCellKind::kGru) {
    std::tie(r.all, r.hidden) =
        at::gru(x, hidden, weights, biases, 1, 0, layer.trains, bidirectional,
                layer.batch_first);
  } else if (uses_relu) {
    std::tie(r.all, r.hidden) =
        at::rnn_relu(x, hidden, weights, biases, 1, 0, layer.trains,
                     bidirectional, layer.batch_first);
  } else {
    std::tie(r.all, r.hidden) =
        at::rnn_tanh(x, hidden, weights, biases, 1, 0, layer.trains,
                     bidirectional, layer.batch_first);
  }
  if (reverse) r.all = at::flip(r.all, {time});
  return r;
}

// ---- Step by step ----------------------------------------------------------

RecurrentCell CellOf(const Layer& layer, std::int64_t d,
                     std::vector<RecurrentActivation> activations) {
  RecurrentCell cell{.kind = layer.kind,
                     .input_weight = layer.weight.select(0, d),
                     .recurrent_weight = layer.recurrent_weight.select(0, d),
                     .activations = std::move(activations),
                     .clip = layer.clip,
                     .couples_input_and_forget = layer.couples_input_and_forget,
                     .linear_before_reset = layer.linear_before_reset};
  if (layer.bias.defined()) {
    const std::int64_t rows = NumGates(layer.kind) * layer.hidden;
    const at::Tensor both = layer.bias.select(0, d);
    cell.input_bias = both.slice(0, 0, rows);
    cell.recurrent_bias = both.slice(0, rows, 2 * rows);
  }
  if (layer.peepholes.defined()) cell.peepholes = layer.peepholes.select(0, d);
  return cell;
}

/// `next` where the step lies within a sequence, `state` beyond its end.
RecurrentState Masked(const RecurrentState& next, const RecurrentState& state,
                      const at::Tensor& within) {
  RecurrentState masked;
  masked.hidden = at::where(within, next.hidden, state.hidden);
  if (next.cell.defined()) {
    masked.cell = at::where(within, next.cell, state.cell);
  }
  return masked;
}

/// One direction over `x` [T, N, input size]; `all` is [T, N, H], the states
/// [N, H].
LayerResult RunDirection(const RecurrentCell& cell, const at::Tensor& x,
                         const at::Tensor& lengths, RecurrentState state,
                         bool backwards) {
  const std::int64_t steps = x.size(0);
  const at::Tensor projected =
      at::linear(x, cell.input_weight,
                 cell.input_bias.defined() ? std::optional(cell.input_bias)
                                           : std::nullopt);
  std::vector<at::Tensor> all(static_cast<size_t>(steps));
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t t = backwards ? steps - 1 - i : i;
    RecurrentState next = Step(cell, projected.select(0, t), state);
    at::Tensor& output = all[static_cast<size_t>(t)];
    output = next.hidden;
    if (lengths.defined()) {
      const at::Tensor within = lengths.gt(t).unsqueeze(1);
      output = next.hidden.mul(within.to(next.hidden.scalar_type()));
      next = Masked(next, state, within);
    }
    state = next;
  }
  return {.all = at::stack(all, 0), .hidden = state.hidden, .cell = state.cell};
}

LayerResult RunStepByStep(const NodeContext& ctx, const Layer& layer,
                          ActivationReader& activations) {
  ctx.Check(layer.steps() > 0, "the sequence is empty");
  if (layer.steps() > kMaxSteps) {
    ctx.Fail(ErrorCode::kUnsupported, "a sequence of {}",
             Counted(layer.steps(), "step"));
  }
  const at::Tensor x = layer.batch_first ? layer.x.transpose(0, 1) : layer.x;
  const at::Tensor hidden = StateOrZeros(layer, layer.initial_hidden);
  const bool has_cell = layer.kind == RecurrentCellKind::kLstm;
  const at::Tensor contents =
      has_cell ? StateOrZeros(layer, layer.initial_cell) : at::Tensor();
  std::vector<at::Tensor> all, hiddens, cells;
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    RecurrentState state{.hidden = hidden.select(0, d)};
    if (has_cell) state.cell = contents.select(0, d);
    const bool backwards = d == 1 || layer.direction == "reverse";
    const LayerResult r = RunDirection(CellOf(layer, d, activations.Next()), x,
                                       layer.lengths, state, backwards);
    all.push_back(r.all);
    hiddens.push_back(r.hidden);
    if (has_cell) cells.push_back(r.cell);
  }
  LayerResult result{.all = at::cat(all, -1), .hidden = at::stack(hiddens, 0)};
  if (has_cell) result.cell = at::stack(cells, 0);
  if (layer.batch_first) result.all = result.all.transpose(0, 1);
  return result;
}

// ---- The operators ---------------------------------------------------------

void SetResults(NodeContext& ctx, const Layer& layer, const LayerResult& r) {
  // [T, N, D · H] becomes [T, D, N, H]; with the batch first [N, T, D, H].
  const at::Tensor split =
      r.all.unflatten(-1, {layer.directions, layer.hidden});
  const auto state = [&](const at::Tensor& s) {
    return layer.batch_first ? s.transpose(0, 1) : s;
  };
  if (ctx.Wants(0)) {
    ctx.Set(0, layer.batch_first ? split : split.transpose(1, 2));
  }
  if (ctx.Wants(1)) ctx.Set(1, state(r.hidden));
  if (ctx.Wants(2) && r.cell.defined()) ctx.Set(2, state(r.cell));
}

/// True when nothing but activations keeps the layer from being one call.
bool IsPlain(const Layer& layer) {
  return !layer.lengths.defined() && !layer.peepholes.defined() &&
         layer.clip == 0 && !layer.couples_input_and_forget &&
         layer.steps() > 0 &&
         (layer.kind != RecurrentCellKind::kGru || layer.linear_before_reset);
}

void Lower(NodeContext& ctx, RecurrentCellKind kind, const LstmWeights& weights,
           std::vector<std::string> usual_activations) {
  const Layer layer = ReadLayer(ctx, kind, weights);
  ActivationReader activations(ctx, std::move(usual_activations),
                               layer.directions);
  const std::vector<std::string>& names = activations.names();
  const bool all_relu =
      kind == RecurrentCellKind::kRnn &&
      std::all_of(names.begin(), names.end(),
                  [](const std::string& name) { return name == "relu"; });
  const bool at_once = IsPlain(layer) && (activations.IsDefault() || all_relu);
  SetResults(ctx, layer,
             at_once ? RunAtOnce(layer, all_relu)
                     : RunStepByStep(ctx, layer, activations));
}

/// Inputs 1 and 2, undefined if absent.
LstmWeights OwnWeights(NodeContext& ctx) {
  return {ctx.OptionalTensor(1), ctx.OptionalTensor(2)};
}

void LowerRnn(NodeContext& ctx) {
  Lower(ctx, RecurrentCellKind::kRnn, OwnWeights(ctx), {"tanh"});
}

void LowerGru(NodeContext& ctx) {
  Lower(ctx, RecurrentCellKind::kGru, OwnWeights(ctx), {"sigmoid", "tanh"});
}

void LowerLstm(NodeContext& ctx) { LowerLstmWith(ctx, OwnWeights(ctx)); }

}  // namespace

void LowerLstmWith(NodeContext& ctx, const LstmWeights& weights) {
  Lower(ctx, RecurrentCellKind::kLstm, weights, {"sigmoid", "tanh", "tanh"});
}

namespace {

constexpr const char* kFused = "foretell";

constexpr OnnxOperator kRecurrentOperators[] = {
    {"GRU", {7, kAny}, &LowerGru},
    {"LSTM", {7, kAny}, &LowerLstm},
    {"RNN", {7, kAny}, &LowerRnn},
    {"GRU", {1, kAny}, &LowerGru, kFused},
    {"LSTM", {1, kAny}, &LowerLstm, kFused},
    {"RNN", {1, kAny}, &LowerRnn, kFused},
};

}  // namespace

std::span<const OnnxOperator> RecurrentOperators() {
  return kRecurrentOperators;
}

}  // namespace foretell::onnx
