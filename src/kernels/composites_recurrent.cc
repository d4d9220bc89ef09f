#include <algorithm>
#include <string_view>

#include "src/graph/attributes.h"
#include "src/kernels/composite_calls.h"
#include "src/kernels/recurrent_layers.h"

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
  const bool trains = FlagOf(steps.node(), "train");
  if (trains && kind.reserved > 0) {
    steps.AlsoReturns({rows, kind.reserved * units});
  }
  if (cell.output_weight) Linear(steps, next, *cell.output_weight);
  steps.Repeat(1);
}

/// Where one kernel runs all steps it multiplies as a product of all would.
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
  const StepRows counts = StepRowsOf(steps, layers, input);
  Step(steps, kind, cell, counts.batch, counts.full);
  Step(steps, kind, cell, counts.rest, 1);
}

/// Runs every layer; the last one's output, steps first.
ValueId RunLayers(CompositeSteps& steps, const RecurrentKind& kind,
                  const Layers& layers, ValueId input) {
  const std::int64_t width =
      layers.directions * steps.Size(layers.states.front(), 2);
  const bool drops =
      NumberOf(steps.node(), "dropout", 0) > 0 && FlagOf(steps.node(), "train");
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

const RecurrentKind* KindOf(std::string_view target) {
  if (target == "lstm") return &kLstm;
  if (target == "gru") return &kGru;
  if (target == "rnn_tanh") return &kTanh;
  return target == "rnn_relu" ? &kRelu : nullptr;
}

}  // namespace

bool WriteRecurrent(CompositeSteps& steps) {
  const RecurrentKind* kind = KindOf(steps.node().target);
  if (kind == nullptr) return false;
  const std::optional<Layers> layers =
      SortLayers(steps, *kind, steps.num_operands());
  if (!layers) return false;
  const ValueId output =
      RunLayers(steps, *kind, *layers, StepsFirst(steps, *layers));
  steps.Return(IsBatchFirst(steps, *layers) ? Transpose(steps, output, 0, 1)
                                            : output);
  const std::size_t num_results =
      std::min(steps.node().outputs.size() - 1, layers->states.size());
  for (std::size_t i = 0; i < num_results; ++i) {
    steps.Return(steps.Memory(steps.ShapeOf(layers->states[i]),
                              steps.TypeOf(layers->states[i])));
  }
  return true;
}

}  // namespace foretell::cost
