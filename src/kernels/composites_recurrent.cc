#include <algorithm>

#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"
#include "src/kernels/recurrent_kind.h"

// Recurrent layers as cuDNN runs them.
//
// Per layer and direction one product multiplies the inputs of all steps; then
// every step multiplies the state and computes the gates in a second kernel
// that adds the biases on the way (J. Appleyard, T. Kocisky, P. Blunsom,
// "Optimizing Performance of Recurrent Neural Networks on GPUs",
// arXiv:1604.01946; kernel `LSTM_elementWise_fp` of cuDNN). Layers of few
// hidden units keep their weights on chip and run all steps in one kernel
// (`use_rnn_persist_small_h`, aten/src/ATen/native/cudnn/RNN.cpp). Layers and
// directions run one after another here; cuDNN may overlap them. Weights lie in
// one buffer already (nn.RNNBase.flatten_parameters).

namespace foretell::cost {
namespace {

/// Weights of one layer in one direction.
struct Cell {
  ValueId input_weight;                  ///< [gates * units, inputs]
  ValueId state_weight;                  ///< [gates * units, outputs]
  std::vector<ValueId> biases;           ///< [gates * units] each
  std::optional<ValueId> output_weight;  ///< [outputs, units]: projection.
};

struct Layers {
  ValueId input;
  std::vector<ValueId> states;  ///< Hidden, and of an LSTM the cell state.
  std::vector<Cell> cells;
  std::int64_t directions = 1;
};

/// Rows of the steps: `full` steps of `batch` rows, one of `rest`.
struct Steps {
  std::int64_t full = 0;
  std::int64_t batch = 0;
  std::int64_t rest = 0;
};

/// Matrices begin a cell; every second one, or third with projections, a new
/// one. Integers (batch sizes) are skipped.
void SortOperands(CompositeSteps& steps, Layers& layers) {
  std::vector<ValueId> weights;
  for (std::size_t i = 1; i < steps.num_operands(); ++i) {
    const ValueId id = steps.Operand(i);
    if (!IsFloatingPoint(steps.TypeOf(id))) continue;
    (steps.RankOf(id) == 3 ? layers.states : weights).push_back(id);
  }
  const bool projects =
      layers.states.size() > 1 &&
      steps.Size(layers.states[0], 2) != steps.Size(layers.states[1], 2);
  const int per_cell = projects ? 3 : 2;
  int matrices = 0;
  for (const ValueId id : weights) {
    const bool is_matrix = steps.RankOf(id) == 2;
    const int place = is_matrix ? matrices++ % per_cell : -1;
    if (place == 0) {
      layers.cells.push_back({.input_weight = id,
                              .state_weight = id,
                              .biases = {},
                              .output_weight = {}});
    }
    if (layers.cells.empty()) return;
    Cell& cell = layers.cells.back();
    if (place == 1) cell.state_weight = id;
    if (place == 2) cell.output_weight = id;
    if (!is_matrix) cell.biases.push_back(id);
  }
}

bool IsUnderstood(CompositeSteps& steps, const RecurrentKind& kind,
                  const Layers& layers) {
  const std::size_t num_states = kind.has_cell_state ? 2 : 1;
  const std::size_t rank = steps.RankOf(layers.input);
  const std::int64_t num_cells = std::ssize(layers.cells);
  if (layers.states.size() != num_states || num_cells == 0 ||
      num_cells % layers.directions != 0 || rank < 2 || rank > 3 ||
      steps.Size(layers.states.front(), 1) < 1) {
    return false;
  }
  const std::int64_t units = steps.Size(layers.states.back(), 2);
  return std::ranges::all_of(layers.cells, [&](const Cell& cell) {
    return steps.Size(cell.input_weight, 0) == kind.gates * units &&
           steps.Size(cell.state_weight, 0) == kind.gates * units;
  });
}

/// Packed sequences are [tokens, inputs]: as many full batches as they fill.
Steps StepsOf(CompositeSteps& steps, const Layers& layers, ValueId input) {
  const std::int64_t batch = steps.Size(layers.states.front(), 1);
  if (steps.RankOf(input) == 3) {
    return {.full = steps.Size(input, 0), .batch = batch, .rest = 0};
  }
  const std::int64_t tokens = steps.Size(input, 0);
  return {.full = tokens / batch, .batch = batch, .rest = tokens % batch};
}

/// One step of `rows` rows, made `times` times.
void Step(CompositeSteps& steps, const RecurrentKind& kind, const Cell& cell,
          std::int64_t rows, std::int64_t times) {
  if (rows == 0) return;
  const DType dtype = steps.TypeOf(cell.state_weight);
  const std::int64_t width = steps.Size(cell.state_weight, 0);
  const std::int64_t units = width / kind.gates;
  steps.Repeat(times);
  const ValueId state =
      steps.Memory({rows, steps.Size(cell.state_weight, 1)}, dtype);
  std::vector<ValueId> operands = {steps.Memory({rows, width}, dtype),
                                   Linear(steps, state, cell.state_weight)};
  if (kind.has_cell_state) {
    operands.push_back(steps.Memory({rows, units}, dtype));
  }
  if (kind.reserved > 0 && !kind.has_cell_state) operands.push_back(state);
  operands.insert(operands.end(), cell.biases.begin(), cell.biases.end());
  const ValueId next =
      steps.Call(kind.cell, std::move(operands), {rows, units});
  if (kind.has_cell_state) steps.AlsoReturns({rows, units});
  const bool trains = steps.node().Int("train", 0) != 0;
  if (trains && kind.reserved > 0) {
    steps.AlsoReturns({rows, kind.reserved * units});
  }
  if (cell.output_weight) Linear(steps, next, *cell.output_weight);
  steps.Repeat(1);
}

/// All steps in one kernel, which multiplies as a product of all would.
bool IsPersistent(CompositeSteps& steps, const RecurrentKind& kind,
                  const Cell& cell, ValueId input) {
  return !cell.output_weight && steps.RankOf(input) == 3 &&
         steps.TypeOf(input) != DType::kF64 &&
         steps.Size(cell.state_weight, 1) <= kind.most_persistent_units;
}

void RunLayers(CompositeSteps& steps, const RecurrentKind& kind,
               const Layers& layers, const Cell& cell, ValueId input) {
  const ValueId gates = Linear(steps, input, cell.input_weight);
  if (IsPersistent(steps, kind, cell, input)) {
    std::vector<ValueId> operands = {gates, cell.state_weight};
    operands.insert(operands.end(), cell.biases.begin(), cell.biases.end());
    Shape shape = steps.ShapeOf(input);
    shape.back() = steps.Size(cell.state_weight, 1);
    steps.Call("_cudnn_rnn", std::move(operands), std::move(shape));
    return;
  }
  const Steps counts = StepsOf(steps, layers, input);
  Step(steps, kind, cell, counts.batch, counts.full);
  Step(steps, kind, cell, counts.rest, 1);
}

/// Runs every layer; the last one's output, steps first.
ValueId RunLayers(CompositeSteps& steps, const RecurrentKind& kind,
                  const Layers& layers, ValueId input) {
  const std::int64_t width =
      layers.directions * steps.Size(layers.states.front(), 2);
  const double* dropout =
      std::get_if<double>(steps.node().FindAttribute("dropout"));
  const bool drops =
      dropout != nullptr && *dropout > 0 && steps.node().Int("train", 0) != 0;
  for (std::size_t i = 0; i < layers.cells.size(); ++i) {
    RunLayers(steps, kind, layers, layers.cells[i], input);
    if ((static_cast<std::int64_t>(i) + 1) % layers.directions != 0) continue;
    Shape shape = steps.ShapeOf(input);
    shape.back() = width;
    input = steps.Memory(std::move(shape), steps.TypeOf(input));
    if (drops && i + 1 < layers.cells.size()) {
      input = steps.Call("dropout", {input}, steps.ShapeOf(input));
    }
  }
  return input;
}

template <const RecurrentKind& kKind>
bool Recurrent(CompositeSteps& steps) {
  if (steps.num_operands() < 2) return false;
  Layers layers = {.input = steps.Operand(0), .states = {}, .cells = {}};
  SortOperands(steps, layers);
  layers.directions = steps.node().Int("bidirectional", 0) != 0 ? 2 : 1;
  if (!IsUnderstood(steps, kKind, layers)) return false;
  const bool batch_first = steps.RankOf(layers.input) == 3 &&
                           steps.node().Int("batch_first", 0) != 0;
  const ValueId turned =
      batch_first ? Transpose(steps, layers.input, 0, 1) : layers.input;
  const ValueId input = steps.View("contiguous", turned, steps.ShapeOf(turned));
  const ValueId output = RunLayers(steps, kKind, layers, input);
  steps.Return(batch_first ? Transpose(steps, output, 0, 1) : output);
  const std::size_t num_results =
      std::min(steps.node().outputs.size() - 1, layers.states.size());
  for (std::size_t i = 0; i < num_results; ++i) {
    steps.Return(steps.Memory(steps.ShapeOf(layers.states[i]),
                              steps.TypeOf(layers.states[i])));
  }
  return true;
}

constexpr Composite kRecurrentComposites[] = {
    {"lstm", CompositeCasts::kBefore, &Recurrent<kLstm>},
    {"gru", CompositeCasts::kBefore, &Recurrent<kGru>},
    {"rnn_tanh", CompositeCasts::kBefore, &Recurrent<kTanh>},
    {"rnn_relu", CompositeCasts::kBefore, &Recurrent<kRelu>},
};

}  // namespace

std::span<const Composite> RecurrentComposites() {
  return kRecurrentComposites;
}

}  // namespace foretell::cost
