#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"
#include "src/kernels/recurrent_kind.h"

// One step of a recurrent layer, called by the network: two products and the
// gates (aten/src/ATen/native/RNN.cpp and cuda/RNN.cu, 2.13).

namespace foretell::cost {
namespace {

/// Operands: input, states, two matrices, perhaps two biases. A state that the
/// caller left out was made on the host and is as large as the result.
struct CellOperands {
  ValueId input;
  std::vector<ValueId> states;
  ValueId input_weight;
  ValueId state_weight;
  std::vector<ValueId> biases;
};

std::optional<CellOperands> SortCell(CompositeSteps& steps) {
  std::vector<ValueId> matrices;
  CellOperands operands = {};
  for (std::size_t i = 0; i < steps.num_operands(); ++i) {
    const ValueId id = steps.Operand(i);
    if (steps.RankOf(id) == 2) matrices.push_back(id);
    if (steps.RankOf(id) == 1) operands.biases.push_back(id);
  }
  if (matrices.size() < 3) return std::nullopt;
  operands.input = matrices.front();
  operands.state_weight = matrices.back();
  operands.input_weight = matrices[matrices.size() - 2];
  operands.states.assign(matrices.begin() + 1, matrices.end() - 2);
  while (operands.states.size() < 2) {
    operands.states.push_back(
        steps.Memory(steps.result().shape, steps.TypeOf(operands.input)));
  }
  return operands;
}

/// PyTorch's fused kernels of the gates (aten/src/ATen/native/cuda/RNN.cu).
template <const RecurrentKind& kKind>
bool FusedCell(CompositeSteps& steps) {
  const std::optional<CellOperands> in = SortCell(steps);
  if (!in) return false;
  std::vector<ValueId> operands = {
      Linear(steps, in->input, in->input_weight),
      Linear(steps, in->states[0], in->state_weight),
      in->states[kKind.has_cell_state ? 1 : 0]};
  operands.insert(operands.end(), in->biases.begin(), in->biases.end());
  const Shape shape = steps.result().shape;
  steps.Return(steps.Call(kKind.cell, std::move(operands), shape));
  const bool returns_cell = steps.node().outputs.size() > 1;
  std::vector<ValueId> further;
  if (kKind.has_cell_state) further.push_back(steps.AlsoReturns(shape));
  steps.AlsoReturns({shape.empty() ? 1 : shape.front(),
                     kKind.reserved * (shape.empty() ? 1 : shape.back())});
  if (returns_cell && !further.empty()) steps.Return(further.front());
  return true;
}

/// Written out as operators (aten/src/ATen/native/RNN.cpp).
template <const RecurrentKind& kKind>
bool SimpleCell(CompositeSteps& steps) {
  const std::optional<CellOperands> in = SortCell(steps);
  if (!in) return false;
  const bool has_biases = in->biases.size() > 1;
  const auto bias = [&](std::size_t index) {
    return has_biases ? std::optional(in->biases[index]) : std::nullopt;
  };
  const ValueId from_state =
      Linear(steps, in->states[0], in->state_weight, bias(1));
  const ValueId from_input =
      Linear(steps, in->input, in->input_weight, bias(0));
  const ValueId sum = steps.InPlace("add_", {from_input, from_state});
  steps.Return(steps.Call(kKind.cell, {sum}, steps.ShapeOf(sum)));
  return true;
}

constexpr Composite kCellComposites[] = {
    {"lstm_cell", &FusedCell<kLstm>},
    {"gru_cell", &FusedCell<kGru>},
    {"rnn_tanh_cell", &SimpleCell<kTanh>},
    {"rnn_relu_cell", &SimpleCell<kRelu>},
};

}  // namespace

std::span<const Composite> CellComposites() { return kCellComposites; }

}  // namespace foretell::cost
