// Recurrent layers and cells. Where the CPU multiplies what fits by chance,
// cuDNN compares all shapes: check_attributes and check_expected_hidden_sizes
// (RNN.cpp, cudnn/RNN.cpp).
#include <array>
#include <vector>

#include "src/core/failure.h"
#include "src/program/checks/families.h"
#include "src/program/checks/predicates.h"

namespace foretell::checks {
namespace {

/// Units of a layer, its inputs, and outputs where they are projected.
struct LayerSizes {
  std::int64_t gates = 1;
  std::int64_t features = 0;
  std::int64_t hidden = 0;
  std::int64_t output = 0;
};

/// States of a call: one, or two of an LSTM.
std::vector<at::Tensor> StatesOf(const Call& call) {
  if (!call.IsList("hx")) return {call.Tensor("hx")};
  std::vector<at::Tensor> states = call.TensorList("hx");
  if (states.size() == 2) return states;
  throw InvalidArgument("has {} states, expected 2", states.size());
}

/// cuDNN reads the elements of a weight, regardless of its other dimensions.
void RequireMatrix(const at::Tensor& weight, std::string_view what,
                   std::int64_t rows, std::int64_t columns) {
  const bool fits = weight.numel() == rows * columns && weight.dim() > 1 &&
                    weight.size(-1) == columns;
  if (!fits) RequireShape(weight, what, {rows, columns});
}

/// Weights of one direction of one layer, from `weights` on.
void RequireWeights(const at::Tensor* weights, bool has_biases,
                    const LayerSizes& sizes) {
  const std::int64_t rows = sizes.gates * sizes.hidden;
  RequireMatrix(weights[0], "a weight of the input", rows, sizes.features);
  RequireMatrix(weights[1], "a weight of the state", rows, sizes.output);
  const std::size_t next = has_biases ? 4 : 2;
  if (has_biases) {
    RequireElements(weights[2], "a bias of the input", rows);
    RequireElements(weights[3], "a bias of the state", rows);
  }
  if (sizes.output == sizes.hidden) return;
  RequireMatrix(weights[next], "a projection", sizes.output, sizes.hidden);
}

void RequireAllWeights(const Call& call, LayerSizes sizes) {
  const std::vector<at::Tensor> weights = call.TensorList("params");
  const std::int64_t directions = call.Bool("bidirectional", false) ? 2 : 1;
  const std::int64_t layers = call.Int("num_layers");
  const bool has_biases = call.Bool("has_biases", true);
  const std::int64_t each =
      (has_biases ? 4 : 2) + (sizes.output == sizes.hidden ? 0 : 1);
  const std::int64_t wanted = layers * directions * each;
  if (static_cast<std::int64_t>(weights.size()) != wanted) {
    throw InvalidArgument("has {} weights, {} layers in {} directions need {}",
                          weights.size(), layers, directions, wanted);
  }
  const at::Tensor* next = weights.data();
  for (std::int64_t i = 0; i < layers * directions; ++i, next += each) {
    if (i == directions) sizes.features = sizes.output * directions;
    RequireWeights(next, has_biases, sizes);
  }
}

void RequireStates(const Call& call, const at::Tensor& input,
                   const std::vector<at::Tensor>& states) {
  const bool is_packed = call.Has("data");
  const std::int64_t directions = call.Bool("bidirectional", false) ? 2 : 1;
  for (const at::Tensor& state : states) {
    RequireRank(state, "a state", 3, 3);
    const std::int64_t batch =
        is_packed ? states[0].size(1)
                  : input.size(call.Bool("batch_first", false) ? 0 : 1);
    RequireShape(state, "a state",
                 {call.Int("num_layers") * directions, batch, state.size(2)});
  }
}

void RequireOneRecurrentType(const Call& call, const at::Tensor& input,
                             const std::vector<at::Tensor>& states) {
  for (const at::Tensor& state : states) {
    RequireTypeOf(state, "a state", input, "an input");
  }
  for (const at::Tensor& weight : call.TensorList("params")) {
    RequireTypeOf(weight, "a weight", input, "an input");
  }
}

template <std::int64_t kGates>
void CheckRecurrent(const Call& call) {
  const bool is_packed = call.Has("data");
  const at::Tensor& input = call.Tensor(is_packed ? "data" : "input");
  const std::vector<at::Tensor> states = StatesOf(call);
  RequireFloats(input);
  RequireRank(input, "an input", is_packed ? 2 : 3, is_packed ? 2 : 3);
  RequireAtLeast(call.Int("num_layers"), "num_layers", 1);
  RequireStates(call, input, states);
  RequireOneRecurrentType(call, input, states);
  RequireAllWeights(call, {.gates = kGates,
                           .features = input.size(-1),
                           .hidden = states.back().size(2),
                           .output = states.front().size(2)});
}

/// check_rnn_cell_forward_input and what the products need (RNN.cpp).
template <std::int64_t kGates>
void CheckCell(const Call& call) {
  const at::Tensor& input = call.Tensor("input");
  const std::vector<at::Tensor> states = StatesOf(call);
  RequireFloats(input);
  RequireRank(input, "an input", 2, 2);
  RequireRank(states[0], "a state", 2, 2);
  const std::int64_t hidden = states[0].size(1);
  const std::int64_t rows = kGates * hidden;
  for (const at::Tensor& state : states) {
    RequireShape(state, "a state", {input.size(0), hidden});
    RequireTypeOf(state, "a state", input, "an input");
  }
  RequireShape(call.Tensor("w_ih"), "w_ih", {rows, input.size(1)});
  RequireShape(call.Tensor("w_hh"), "w_hh", {rows, hidden});
  for (const std::string_view name : {"b_ih", "b_hh"}) {
    RequireExpands(call.TensorOrUndefined(name), name, {input.size(0), rows});
  }
  for (const std::string_view name : {"w_ih", "w_hh", "b_ih", "b_hh"}) {
    RequireTypeOf(call.TensorOrUndefined(name), name, input, "an input");
  }
}

constexpr std::array kRecurrentRows = std::to_array<OperandRow>({
    {"gru", &CheckRecurrent<3>},
    {"gru_cell", &CheckCell<3>},
    {"lstm", &CheckRecurrent<4>},
    {"lstm_cell", &CheckCell<4>},
    {"rnn_relu", &CheckRecurrent<1>},
    {"rnn_relu_cell", &CheckCell<1>},
    {"rnn_tanh", &CheckRecurrent<1>},
    {"rnn_tanh_cell", &CheckCell<1>},
});

}  // namespace

std::span<const OperandRow> RecurrentRows() { return kRecurrentRows; }

}  // namespace foretell::checks
