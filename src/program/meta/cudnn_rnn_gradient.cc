// The gradient of recurrent layers, as cudnn_rnn.cc has their forward pass.

#include <cstddef>

#include "src/program/meta/cudnn_rnn.h"
#include "src/program/meta/shapes.h"
#include "src/program/meta/written_call.h"

namespace foretell::meta {
namespace {

// What the kernel of the gates reads, as PyTorch's own cells do: what the
// forward pass saved, of an LSTM also the cell state before and after the step
// and its gradient; of a simple layer its result.
std::vector<at::Tensor> GateOperands(const RecurrentLayers& layers,
                                     const Room& room,
                                     const at::Tensor& gradient,
                                     const Room& reserve) {
  const std::int64_t saved = layers.kind.saved;
  const int num_states = layers.cell_state.defined() ? 3 : saved > 0 ? 0 : 1;
  std::vector<at::Tensor> operands = {gradient};
  const Sizes units = {gradient.size(0), layers.units};
  for (int i = 0; i < num_states; ++i) operands.push_back(room(units));
  if (saved > 0) operands.push_back(reserve({units[0], saved * units[1]}));
  return operands;
}

void WriteStepBack(const RecurrentLayers& layers, const RecurrentCell& cell,
                   const Room& room, const Room& reserve, std::int64_t rows) {
  const Sizes gates = {rows, cell.state_weight.size(0)};
  const Sizes units = {rows, layers.units};
  at::Tensor gradient = room({rows, cell.state_weight.size(1)});
  WriteCall("mm", {room(gates), cell.state_weight}, {gradient});
  if (cell.projection.defined()) {
    const at::Tensor before = room(units);
    WriteCall("mm", {gradient, cell.projection}, {before});
    gradient = before;
  }
  std::vector<at::Tensor> results = {room(gates)};
  if (layers.kind.saved > 0) {
    if (!layers.cell_state.defined()) results.push_back(room(gates));
    results.push_back(room(units));
  }
  WriteCall(layers.kind.cell_gradient,
            GateOperands(layers, room, gradient, reserve), results);
}

void WriteCellBack(const RecurrentLayers& layers, const RecurrentCell& cell,
                   const Room& room, const Room& reserve) {
  if (!IsPersistent(layers, cell)) {
    return WriteSteps(layers, [&](std::int64_t rows) {
      WriteStepBack(layers, cell, room, reserve, rows);
    });
  }
  WriteCall("_cudnn_rnn",
            {room(layers.OfAll(cell.state_weight.size(0))), cell.state_weight},
            {room(layers.OfAll(layers.units))});
}

// The gradients of a cell's weights, in the buffer `all`, of the layer's input
// and its outputs; `outputs` has room for those of every token.
void WriteWeightGradients(const RecurrentLayers& layers,
                          const RecurrentCell& cell, const Room& room,
                          const at::Tensor& input, const at::Tensor& output,
                          const at::Tensor& all) {
  const std::int64_t tokens = layers.Tokens();
  const auto write = [&](const at::Tensor& weight, const at::Tensor& operand) {
    const std::int64_t n = weight.size(0);
    WriteCall("mm", {room({n, tokens}, {1, n}), operand},
              {In(all, weight.sizes().vec())});
  };
  write(cell.input_weight, In(input, {tokens, cell.input_weight.size(1)}));
  write(cell.state_weight, In(output, {tokens, cell.state_weight.size(1)}));
  if (cell.projection.defined()) {
    write(cell.projection, room({tokens, layers.units}));
  }
  for (const at::Tensor& bias : cell.biases) {
    const std::int64_t n = bias.numel();
    WriteCall("sum", {room({tokens, n})}, {In(all, {n})},
              {{"dim", std::vector<std::int64_t>{0}}});
  }
}

// Takes every layer back, the last one first. `all` is undefined if no
// gradients of weights are wanted.
void WriteLayersBack(const Call& call, const RecurrentLayers& layers,
                     const at::Tensor& gradient, const at::Tensor& all) {
  const Room room(Workspace(layers), layers.input.dtype());
  const Room reserve(call.Tensor("reserve"), layers.input.dtype());
  const at::Tensor& output = call.Tensor("output");
  for (std::size_t i = layers.cells.size(); i-- > 0;) {
    const RecurrentCell& cell = layers.cells[i];
    WriteCellBack(layers, cell, room, reserve);
    const bool is_first = static_cast<std::int64_t>(i) < layers.directions;
    if (!is_first || call.Bools("output_mask")[0]) {
      const Sizes sizes = {layers.Tokens(), cell.input_weight.size(1)};
      WriteCall(
          "mm",
          {room({sizes[0], cell.input_weight.size(0)}), cell.input_weight},
          {is_first ? In(gradient, sizes) : room(sizes)});
    }
    if (all.defined()) {
      WriteWeightGradients(layers, cell, room, is_first ? layers.input : output,
                           output, all);
    }
  }
}

// The gradients of all weights are views of one buffer.
c10::List<at::Tensor> ViewsLike(const std::vector<at::Tensor>& weights,
                                const at::Tensor& all) {
  c10::List<at::Tensor> gradients;
  std::int64_t start = 0;
  for (const at::Tensor& weight : weights) {
    gradients.push_back(
        all.narrow(0, start, weight.numel()).view(weight.sizes()));
    start += weight.numel();
  }
  return gradients;
}

}  // namespace

void CudnnRnnBackward(Call& call) {
  const RecurrentLayers layers = LayersOf(call);
  const std::vector<at::Tensor> weights = call.TensorList("weight");
  const at::Tensor gradient = call.Return(Like(call.Tensor("input")));
  call.Return(Contiguous(layers.hidden.sizes(), layers.hidden.scalar_type()));
  const bool has_cell = layers.cell_state.defined();
  call.ReturnIf(has_cell, has_cell ? Contiguous(layers.cell_state.sizes(),
                                                layers.cell_state.scalar_type())
                                   : TensorSpec{});
  at::Tensor all;
  if (call.Bools("output_mask")[3]) {
    std::int64_t total = 0;
    for (const at::Tensor& weight : weights) total += weight.numel();
    all = Allocate(Contiguous(Sizes{total}, weights.front().scalar_type()));
  }
  call.ReturnValue(all.defined() ? ViewsLike(weights, all)
                                 : c10::List<at::Tensor>());
  WriteLayersBack(call, layers, gradient, all);
}

}  // namespace foretell::meta
