#include "src/graph/attributes.h"
#include "src/kernels/composite_calls.h"
#include "src/kernels/recurrent_layers.h"

// The gradient of recurrent layers, `_cudnn_rnn_backward`.
//
// Every step takes back the gates in one kernel and multiplies what comes of
// them with the weight of the state, last step first. What remains are products
// over all steps: the gradient of the input and those of the weights, and a sum
// per bias (J. Appleyard, T. Kocisky, P. Blunsom, arXiv:1604.01946, who hold
// the weights' gradients back until then). Layers that ran all steps in one
// kernel take them back in one. DeepBench times both parts apart.

namespace foretell::cost {
namespace {

/// What the kernel of the gates reads, as PyTorch's own cells do: what the
/// forward pass reserved, of an LSTM also the cell state before and after the
/// step and its gradient; of a simple layer its result.
std::vector<ValueId> GateOperands(CompositeSteps& steps,
                                  const RecurrentKind& kind, ValueId gradient) {
  const DType dtype = steps.TypeOf(gradient);
  const Shape state = steps.ShapeOf(gradient);
  std::vector<ValueId> operands = {gradient};
  const int num_states = kind.has_cell_state ? 3 : kind.reserved > 0 ? 0 : 1;
  for (int i = 0; i < num_states; ++i) {
    operands.push_back(steps.Memory(state, dtype));
  }
  if (kind.reserved > 0) {
    operands.push_back(
        steps.Memory({state.front(), kind.reserved * state.back()}, dtype));
  }
  return operands;
}

/// One step of `rows` rows, made `times` times.
void StepBack(CompositeSteps& steps, const RecurrentKind& kind,
              const Cell& cell, std::int64_t rows, std::int64_t times) {
  if (rows == 0) return;
  const DType dtype = steps.TypeOf(cell.state_weight);
  const std::int64_t width = steps.Size(cell.state_weight, 0);
  const std::int64_t units = width / kind.gates;
  steps.Repeat(times);
  ValueId gradient = Product(steps, "mm", steps.Memory({rows, width}, dtype),
                             cell.state_weight);
  if (cell.output_weight) {
    gradient = Product(steps, "mm", gradient, *cell.output_weight);
  }
  steps.Call(kind.cell_gradient, GateOperands(steps, kind, gradient),
             {rows, width});
  if (kind.reserved > 0) {
    if (!kind.has_cell_state) steps.AlsoReturns({rows, width});
    steps.AlsoReturns({rows, units});
  }
  steps.Repeat(1);
}

/// The gradient of `weight` [n, k] from [rows, n] and [rows, k].
void WeightGradient(CompositeSteps& steps, ValueId weight, std::int64_t rows) {
  const DType dtype = steps.TypeOf(weight);
  const ValueId results = steps.Memory({rows, steps.Size(weight, 0)}, dtype);
  const ValueId operands = steps.Memory({rows, steps.Size(weight, 1)}, dtype);
  Product(steps, "mm", Transpose(steps, results, 0, 1), operands);
}

void WeightGradients(CompositeSteps& steps, const Cell& cell,
                     std::int64_t rows) {
  WeightGradient(steps, cell.input_weight, rows);
  WeightGradient(steps, cell.state_weight, rows);
  if (cell.output_weight) WeightGradient(steps, *cell.output_weight, rows);
  for (const ValueId bias : cell.biases) {
    SumOfRows(steps,
              steps.Memory({rows, steps.Size(bias, 0)}, steps.TypeOf(bias)));
  }
}

void RunStepsBack(CompositeSteps& steps, const RecurrentKind& kind,
                  const Layers& layers, const Cell& cell, ValueId input) {
  if (!IsPersistent(steps, kind, cell, input)) {
    const StepRows counts = StepRowsOf(steps, layers, input);
    StepBack(steps, kind, cell, counts.rest, 1);
    StepBack(steps, kind, cell, counts.batch, counts.full);
    return;
  }
  Shape shape = steps.ShapeOf(input);
  shape.back() = steps.Size(cell.state_weight, 0);
  const ValueId gates = steps.Memory(shape, steps.TypeOf(input));
  shape.back() = steps.Size(cell.state_weight, 1);
  steps.Call("_cudnn_rnn", {gates, cell.state_weight}, std::move(shape));
}

bool WantsWeights(const Node& node) {
  const std::vector<std::int64_t> mask = node.Ints("output_mask", {});
  return mask.size() < 4 || mask[3] != 0;
}

bool WantsInput(const Node& node) {
  const std::vector<std::int64_t> mask = node.Ints("output_mask", {});
  return mask.empty() || mask[0] != 0;
}

/// Takes every layer back, the last one first.
void RunLayersBack(CompositeSteps& steps, const RecurrentKind& kind,
                   const Layers& layers, ValueId input) {
  const std::int64_t rows = steps.RankOf(input) == 3
                                ? steps.Size(input, 0) * steps.Size(input, 1)
                                : steps.Size(input, 0);
  for (std::size_t i = layers.cells.size(); i-- > 0;) {
    const Cell& cell = layers.cells[i];
    RunStepsBack(steps, kind, layers, cell, input);
    const bool is_first = static_cast<std::int64_t>(i) < layers.directions;
    if (!is_first || WantsInput(steps.node())) {
      const ValueId gates =
          steps.Memory({rows, steps.Size(cell.input_weight, 0)},
                       steps.TypeOf(cell.input_weight));
      Product(steps, "mm", gates, cell.input_weight);
    }
    if (WantsWeights(steps.node())) WeightGradients(steps, cell, rows);
  }
}

/// By the attribute `mode` (ATen/native/cudnn/RNN.cpp).
const RecurrentKind* KindOfMode(std::int64_t mode) {
  constexpr const RecurrentKind* kModes[] = {&kRelu, &kTanh, &kLstm, &kGru};
  return mode >= 0 && mode < std::ssize(kModes) ? kModes[mode] : nullptr;
}

}  // namespace

bool WriteRecurrentGradient(CompositeSteps& steps) {
  const Node& node = steps.node();
  if (node.target != "_cudnn_rnn_backward") return false;
  const RecurrentKind* kind = KindOfMode(node.Int("mode", -1));
  const std::int64_t directions = FlagOf(node, "bidirectional") ? 2 : 1;
  // Both are small: attribute_table.h.
  const std::int64_t num_weights =
      node.Int("weight_stride0", 0) * directions * node.Int("num_layers", 0);
  if (kind == nullptr || num_weights < 2 ||
      num_weights >= static_cast<std::int64_t>(steps.num_operands())) {
    return false;
  }
  const std::optional<Layers> layers =
      SortLayers(steps, *kind, 1 + static_cast<std::size_t>(num_weights));
  if (!layers) return false;
  RunLayersBack(steps, *kind, *layers, StepsFirst(steps, *layers));
  steps.Return(steps.Memory(steps.result().shape, steps.result().dtype));
  return true;
}

}  // namespace foretell::cost
