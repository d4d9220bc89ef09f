// What cuDNN does inside of a recurrent layer, written as calls.
//
// Per layer and direction one product multiplies the inputs of all steps; then
// every step multiplies the state and computes the gates in a second kernel
// that adds the biases on the way. The gradient takes back the gates of a step
// in one kernel and multiplies what comes of them with the weight of the state,
// last step first; the gradients of the input and of the weights are products
// over all steps (J. Appleyard, T. Kocisky, P. Blunsom, "Optimizing Performance
// of Recurrent Neural Networks on GPUs", arXiv:1604.01946; kernel
// `LSTM_elementWise_fp` of cuDNN). RecurrentLayers of few hidden units keep
// their weights on chip and run all steps in one kernel
// (`use_rnn_persist_small_h`, aten/src/ATen/native/cudnn/RNN.cpp).
// RecurrentLayers and directions run one after another here; cuDNN may overlap
// them.
//
// cuDNN does not publish what it reserves for the backward pass, nor how large
// its workspace is. The reserve is taken to hold what the gradient needs per
// unit and step: activated gates, cell state and output of the layer; it has
// not been measured. The workspace was, of cuDNN 9.19 on an H100, 12 layers in
// FP32 and BF16 (datasets/labels/h100-sxm5-80gb/kinds.jsonl.gz): in both
// directions a copy of the weights, 9.5 values per unit, step and layer and 16
// MiB, of which half of the layers take within 3 % and all within a factor of
// 1.7. Those numbers are fitted to the same rows.

#include "src/program/meta/cudnn_rnn.h"

#include <algorithm>
#include <cstddef>

#include "src/program/meta/written_call.h"

namespace foretell::meta {
namespace {

// By cudnnRNNMode_t.
constexpr RecurrentKind kKinds[] = {
    {1, 384, 0, 2, "relu", "threshold_backward"},
    {1, 384, 0, 2, "tanh", "tanh_backward"},
    {4, 192, 4, 6, "_thnn_fused_lstm_cell",
     "_thnn_fused_lstm_cell_backward_impl"},
    {3, 192, 5, 5, "_thnn_fused_gru_cell", "_thnn_fused_gru_cell_backward"}};

const RecurrentKind& KindOf(const Call& call) {
  const std::int64_t mode = call.Int("mode");
  TORCH_CHECK(mode >= 0 && mode < std::ssize(kKinds), call.schema().name(),
              ": mode is ", mode, ", expected 0 to ", std::ssize(kKinds) - 1);
  return kKinds[mode];
}

// cuDNN reads the elements of a weight whatever its other dimensions are.
at::Tensor Matrix(const at::Tensor& weight) {
  return weight.dim() == 2 ? weight : weight.flatten(0, -2);
}

std::int64_t DirectionsOf(const Call& call) {
  return call.Bool("bidirectional", false) ? 2 : 1;
}

std::vector<RecurrentCell> CellsOf(const Call& call) {
  const std::vector<at::Tensor> weights = call.TensorList("weight");
  const std::int64_t total = std::ssize(weights);
  const std::int64_t layers = call.Int("num_layers");
  const std::int64_t has_projection = call.Int("proj_size", 0) > 0 ? 1 : 0;
  TORCH_CHECK(layers > 0 && layers <= total, call.schema().name(), ": ", total,
              " weights of ", layers, " layers");
  const std::int64_t num_cells = layers * DirectionsOf(call);
  const std::int64_t each = total / num_cells;
  TORCH_CHECK(total % num_cells == 0 && each >= 2 + has_projection,
              call.schema().name(), ": ", total, " weights of ", num_cells,
              " layers and directions");
  std::vector<RecurrentCell> cells;
  for (auto first = weights.begin(); first != weights.end(); first += each) {
    const auto end_of_biases = first + each - has_projection;
    cells.push_back({.input_weight = Matrix(first[0]),
                     .state_weight = Matrix(first[1]),
                     .biases = {first + 2, end_of_biases}});
    if (has_projection > 0) cells.back().projection = Matrix(*end_of_biases);
  }
  return cells;
}

at::Tensor StepsFirst(const Call& call) {
  const at::Tensor& input = call.Tensor("input");
  const bool is_packed = !call.Ints("batch_sizes").empty();
  TORCH_CHECK(input.dim() == (is_packed ? 2 : 3), call.schema().name(),
              ": an input of shape ", input.sizes(), ", expected ",
              is_packed ? 2 : 3, " dimensions");
  const bool turns = call.Bool("batch_first", false) && !is_packed;
  return (turns ? input.transpose(0, 1) : input).contiguous();
}

void WriteStep(const RecurrentLayers& layers, const RecurrentCell& cell,
               const Room& room, std::int64_t rows) {
  const RecurrentKind& kind = layers.kind;
  const bool has_cell = layers.cell_state.defined();
  const Sizes gates = {rows, cell.state_weight.size(0)};
  const Sizes units = {rows, layers.units};
  const at::Tensor state = In(layers.hidden, {rows, cell.state_weight.size(1)});
  const at::Tensor product = room(gates);
  WriteCall("linear", {state, cell.state_weight}, {product});
  std::vector<at::Tensor> operands = {room(gates), product};
  if (has_cell) operands.push_back(In(layers.cell_state, units));
  if (kind.saved > 0 && !has_cell) operands.push_back(state);
  operands.insert(operands.end(), cell.biases.begin(), cell.biases.end());
  std::vector<at::Tensor> results = {room(units)};
  if (has_cell) results.push_back(room(units));
  if (layers.trains && kind.saved > 0) {
    results.push_back(room({rows, kind.saved * layers.units}));
  }
  WriteCall(kind.cell, operands, results);
  if (!cell.projection.defined()) return;
  WriteCall("linear", {results.front(), cell.projection},
            {room({rows, cell.projection.size(0)})});
}

// Where one kernel runs all steps it multiplies as a product of all would.
void WriteCell(const RecurrentLayers& layers, const RecurrentCell& cell,
               const Room& room, const at::Tensor& input) {
  const at::Tensor gates = room(layers.OfAll(cell.input_weight.size(0)));
  WriteCall("linear", {input, cell.input_weight}, {gates});
  if (!IsPersistent(layers, cell)) {
    return WriteSteps(layers, [&](std::int64_t rows) {
      WriteStep(layers, cell, room, rows);
    });
  }
  std::vector<at::Tensor> operands = {gates, cell.state_weight};
  operands.insert(operands.end(), cell.biases.begin(), cell.biases.end());
  WriteCall("_cudnn_rnn", operands, {room(layers.OfAll(layers.units))});
}

void WriteLayers(const RecurrentLayers& layers, const Room& room,
                 const at::Tensor& output) {
  at::Tensor input = layers.input;
  const Sizes all = layers.OfAll(output.size(-1));
  for (std::size_t i = 0; i < layers.cells.size(); ++i) {
    WriteCell(layers, layers.cells[i], room, input);
    if ((static_cast<std::int64_t>(i) + 1) % layers.directions != 0) continue;
    input = In(output, all);
    if (!layers.drops || i + 1 == layers.cells.size()) continue;
    const at::Tensor kept = room(all);
    WriteCall("dropout", {input}, {kept});
    input = kept;
  }
}

}  // namespace

RecurrentLayers LayersOf(const Call& call) {
  const bool trains = call.Bool("train", false);
  return {.kind = KindOf(call),
          .cells = CellsOf(call),
          .input = StepsFirst(call),
          .hidden = call.Tensor("hx"),
          .cell_state = call.TensorOrUndefined("cx"),
          .directions = DirectionsOf(call),
          .units = call.Int("hidden_size"),
          .trains = trains,
          .drops = trains && call.Double("dropout", 0) > 0};
}

at::Tensor Room::operator()(const Sizes& sizes, const Sizes& strides) const {
  at::Tensor part = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(whole_.storage()), whole_.key_set(), dtype_);
  c10::TensorImpl& impl = *part.unsafeGetTensorImpl();
  impl.set_sizes_contiguous(sizes);
  if (!strides.empty()) impl.set_sizes_and_strides(sizes, strides);
  return part;
}

at::Tensor In(const at::Tensor& whole, const Sizes& sizes) {
  return Room(whole, whole.dtype())(sizes);
}

at::Tensor Workspace(const RecurrentLayers& layers) {
  constexpr std::int64_t kFixedBytes = std::int64_t{16} << 20;
  constexpr double kValuesPerUnit = 9.5;  // Of a step, layer and direction.
  const auto width = static_cast<std::int64_t>(layers.input.itemsize());
  std::int64_t weights = 0;
  for (const RecurrentCell& cell : layers.cells) {
    weights += cell.input_weight.numel() + cell.state_weight.numel();
    for (const at::Tensor& bias : cell.biases) weights += bias.numel();
    if (cell.projection.defined()) weights += cell.projection.numel();
  }
  const std::int64_t units =
      layers.Tokens() * layers.units * std::ssize(layers.cells);
  const auto values =
      static_cast<std::int64_t>(kValuesPerUnit * static_cast<double>(units));
  return Allocate(
      Contiguous(Sizes{kFixedBytes + (weights + values) * width}, at::kByte));
}

bool IsPersistent(const RecurrentLayers& layers, const RecurrentCell& cell) {
  const at::ScalarType dtype = layers.input.scalar_type();
  return !cell.projection.defined() && layers.input.dim() == 3 &&
         dtype != at::kDouble && dtype != at::kBFloat16 &&
         cell.state_weight.size(1) <= layers.kind.most_persistent_units;
}

// Results: output, last hidden state, last cell state, reserved bytes, and
// the buffer of weights.
void CudnnRnn(Call& call) {
  const RecurrentLayers layers = LayersOf(call);
  const at::ScalarType dtype = layers.input.scalar_type();
  const at::Tensor& input = call.Tensor("input");
  const std::int64_t width = layers.directions * layers.hidden.size(2);
  Sizes sizes = input.sizes().vec();
  sizes.back() = width;
  TensorSpec output = Contiguous(sizes, dtype);
  if (call.Bool("batch_first", false) && sizes.size() == 3) {
    output.strides = {width, sizes[0] * width, 1};
  }
  const std::int64_t reserved = layers.Tokens() * layers.units *
                                layers.directions * call.Int("num_layers") *
                                layers.kind.reserved *
                                static_cast<std::int64_t>(input.itemsize());
  const at::Tensor result = call.Return(output);
  call.Return(Contiguous(layers.hidden.sizes(), dtype));
  const bool has_cell = layers.cell_state.defined();
  call.Return(
      Contiguous(has_cell ? layers.cell_state.sizes() : Sizes{0}, dtype));
  const at::Tensor reserve =
      call.Return(Contiguous(Sizes{layers.trains ? reserved : 0}, at::kByte));
  call.Return(Contiguous(Sizes{0}, dtype));
  const at::Tensor workspace = Workspace(layers);
  const Room room(layers.trains ? reserve : workspace, layers.input.dtype());
  WriteLayers(layers, room, result);
}

}  // namespace foretell::meta
