// Recurrent layers as CUDA runs them.
//
// lstm, gru and rnn are composites that ask the device for a whole-layer
// kernel; the meta device would get one small operator per time step and save
// each one's results. The overrides call cuDNN's operator instead, the cells
// their fused kernels. Weights are assumed to lie in one buffer already
// (nn::RNNBase::flatten_parameters), so no copy of them is made.

#include <ATen/ATen.h>

#include "src/program/meta/cudnn_rnn.h"
#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

struct Layer {
  at::Tensor input;
  at::Tensor hidden;
  at::Tensor cell = {};  ///< LSTM only.
  /// Batch per step of a packed sequence.
  std::vector<std::int64_t> batch_sizes = {};
};

using RnnResults =
    std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

RnnResults RunCudnn(const Call& call, const Layer& layer, std::int64_t mode) {
  const bool is_lstm = layer.cell.defined();
  const std::int64_t hidden_size =
      (is_lstm ? layer.cell : layer.hidden).size(2);
  const std::int64_t output_size = layer.hidden.size(2);
  return at::_cudnn_rnn(
      layer.input, call.TensorList("params"),
      call.Bool("has_biases", true) ? 4 : 2, std::nullopt, layer.hidden,
      is_lstm ? std::optional(layer.cell) : std::nullopt, mode, hidden_size,
      output_size == hidden_size ? 0 : output_size, call.Int("num_layers"),
      call.Bool("batch_first", false), call.Double("dropout", 0),
      call.Bool("train", false), call.Bool("bidirectional", false),
      layer.batch_sizes, std::nullopt);
}

// Either variant: a padded `input`, or packed `data` with its batch sizes,
// which live on the CPU.
Layer ReadLayer(const Call& call) {
  Layer layer;
  if (call.Has("input")) {
    layer.input = call.Tensor("input");
  } else {
    const at::Tensor& sizes = call.Tensor("batch_sizes");
    TORCH_CHECK_NOT_IMPLEMENTED(
        sizes.is_cpu(), call.schema().name(),
        ": batch_sizes of a packed sequence must be on the CPU");
    layer.input = call.Tensor("data");
    const std::int64_t* first = sizes.const_data_ptr<std::int64_t>();
    layer.batch_sizes.assign(first, first + sizes.numel());
  }
  return layer;
}

template <std::int64_t kMode>
void Rnn(Call& call) {
  Layer layer = ReadLayer(call);
  layer.hidden = call.Tensor("hx");
  const RnnResults results = RunCudnn(call, layer, kMode);
  call.Return(std::get<0>(results));
  call.Return(std::get<1>(results));
}

void Lstm(Call& call) {
  Layer layer = ReadLayer(call);
  const std::vector<at::Tensor> states = call.TensorList("hx");
  TORCH_CHECK(states.size() == 2, "lstm: ", states.size(),
              " initial states, expected 2");
  layer.hidden = states[0];
  layer.cell = states[1];
  const RnnResults results = RunCudnn(call, layer, kModeLstm);
  call.Return(std::get<0>(results));
  call.Return(std::get<1>(results));
  call.Return(std::get<2>(results));
}

void LstmCell(Call& call) {
  const std::vector<at::Tensor> states = call.TensorList("hx");
  TORCH_CHECK(states.size() == 2, "lstm_cell: ", states.size(),
              " initial states, expected 2");
  const auto [hidden, cell, workspace] = at::_thnn_fused_lstm_cell(
      at::matmul(call.Tensor("input"), call.Tensor("w_ih").t()),
      at::matmul(states[0], call.Tensor("w_hh").t()), states[1],
      call.TensorOrUndefined("b_ih"), call.TensorOrUndefined("b_hh"));
  call.Return(hidden);
  call.Return(cell);
}

void GruCell(Call& call) {
  const at::Tensor& hidden = call.Tensor("hx");
  call.Return(std::get<0>(at::_thnn_fused_gru_cell(
      at::matmul(call.Tensor("input"), call.Tensor("w_ih").t()),
      at::matmul(hidden, call.Tensor("w_hh").t()), hidden,
      call.TensorOrUndefined("b_ih"), call.TensorOrUndefined("b_hh"))));
}

void FusedLstmCell(Call& call) {
  const at::Tensor& cell = call.Tensor("cx");
  call.Return(Like(cell));
  call.Return(Like(cell));
  call.Return(Like(call.Tensor("input_gates")));
}

void FusedLstmCellBackward(Call& call) {
  const at::Tensor& workspace = call.Tensor("workspace");
  const TensorSpec bias =
      Contiguous(Sizes{workspace.size(1)}, workspace.scalar_type());
  call.Return(Like(workspace));
  call.Return(Like(call.Tensor("cx")));
  call.ReturnIf(call.Bool("has_bias", false), bias);
}

constexpr std::int64_t kGruGates = 3;
constexpr std::int64_t kGruWorkspace = 5;

void FusedGruCell(Call& call) {
  const at::Tensor& hidden = call.Tensor("hx");
  call.Return(Like(hidden));
  call.Return(Contiguous(Sizes{hidden.size(0), hidden.size(1) * kGruWorkspace},
                         hidden.scalar_type()));
}

void FusedGruCellBackward(Call& call) {
  const at::Tensor& workspace = call.Tensor("workspace");
  const std::int64_t gates = workspace.size(1) / kGruWorkspace * kGruGates;
  const TensorSpec gradient =
      Contiguous(Sizes{workspace.size(0), gates}, workspace.scalar_type());
  const TensorSpec bias = Contiguous(Sizes{gates}, workspace.scalar_type());
  const bool has_bias = call.Bool("has_bias", false);
  call.Return(gradient);
  call.Return(gradient);
  call.Return(Like(call.Tensor("grad_hy")));
  call.ReturnIf(has_bias, bias);
  call.ReturnIf(has_bias, bias);
}

constexpr KernelRow kRecurrentKernels[] = {
    {"lstm.input", Lstm, Policy::kOverrideWhole},
    {"lstm.data", Lstm, Policy::kOverrideWhole},
    {"gru.input", Rnn<kModeGru>, Policy::kOverrideWhole},
    {"gru.data", Rnn<kModeGru>, Policy::kOverrideWhole},
    {"rnn_tanh.input", Rnn<kModeTanh>, Policy::kOverrideWhole},
    {"rnn_tanh.data", Rnn<kModeTanh>, Policy::kOverrideWhole},
    {"rnn_relu.input", Rnn<kModeRelu>, Policy::kOverrideWhole},
    {"rnn_relu.data", Rnn<kModeRelu>, Policy::kOverrideWhole},
    {"_cudnn_rnn.", CudnnRnn},
    {"_cudnn_rnn_backward.", CudnnRnnBackward},
    {"lstm_cell", LstmCell, Policy::kOverrideWhole},
    {"gru_cell", GruCell, Policy::kOverrideWhole},
    {"_thnn_fused_lstm_cell.", FusedLstmCell},
    {"_thnn_fused_lstm_cell_backward_impl.", FusedLstmCellBackward},
    {"_thnn_fused_gru_cell.", FusedGruCell},
    {"_thnn_fused_gru_cell_backward.", FusedGruCellBackward},
};

}  // namespace

std::span<const KernelRow> RecurrentKernels() { return kRecurrentKernels; }

}  // namespace foretell::meta
