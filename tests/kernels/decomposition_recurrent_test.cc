#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <tuple>
#include <vector>

#include "foretell/trace.h"
#include "tests/kernels/decomposition.h"
#include "tests/kernels/kernels_of.h"

// Recurrent layers against cuDNN's steps, written with PyTorch's fused cells,
// which read what cuDNN's kernels of the gates read and in training keep the
// activated gates. On meta: the cells have no kernel for the CPU.

namespace foretell::cost {
namespace {

constexpr std::int64_t kSteps = 3;
constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kInputs = 5;
/// Too many for the kernels that run all steps at once.
constexpr std::int64_t kUnits = 200;

/// Attribute `mode` of the gradient (aten/src/ATen/native/cudnn/RNN.cpp).
constexpr std::int64_t kLstmMode = 2;
constexpr std::int64_t kGruMode = 3;

at::Tensor M(std::vector<std::int64_t> shape) {
  return at::empty(shape, at::TensorOptions(at::kMeta).dtype(at::kFloat));
}

struct Weights {
  at::Tensor input, state, input_bias, state_bias;

  std::vector<at::Tensor> All() const {
    return {input, state, input_bias, state_bias};
  }
};

Weights MakeWeights(std::int64_t gates, std::int64_t inputs,
                    std::int64_t outputs = kUnits) {
  const std::int64_t rows = gates * kUnits;
  return {M({rows, inputs}), M({rows, outputs}), M({rows}), M({rows})};
}

using Tensors = std::vector<at::Tensor>;

/// Hidden state after a step of the cell, and of an LSTM the cell state.
Tensors FusedStep(const at::Tensor& gates, const Tensors& states,
                  const Weights& w) {
  const at::Tensor from_state = at::linear(states[0], w.state);
  if (states.size() > 1) {
    const auto [hidden, cell, workspace] = at::_thnn_fused_lstm_cell(
        gates, from_state, states[1], w.input_bias, w.state_bias);
    return {hidden, cell};
  }
  return {std::get<0>(at::_thnn_fused_gru_cell(gates, from_state, states[0],
                                               w.input_bias, w.state_bias))};
}

/// One layer in one direction over `input` [steps, batch, inputs].
void RunSteps(const at::Tensor& input, Tensors states, const Weights& w,
              const at::Tensor& projection = {}) {
  const at::Tensor gates = at::linear(input, w.input);
  for (std::int64_t step = 0; step < input.size(0); ++step) {
    states = FusedStep(gates.select(0, step), states, w);
    if (projection.defined()) states[0] = at::linear(states[0], projection);
  }
}

KernelWork WorkOfCalls(const std::function<void()>& reference) {
  return WorkOf(Decompose(reference).parts);
}

KernelWork WorkOfOne(const std::function<void()>& call) {
  const OperatorGraph graph = TraceOf([&] { return call; });
  EXPECT_EQ(graph.nodes().size(), 1U);
  return WorkOf(graph);
}

/// Its kernels, by class.
std::vector<Kernel> KernelsOfOne(const std::function<void()>& call) {
  return ExpandKernels(TraceOf([&] { return call; }), {});
}

class RecurrentDecomposition : public testing::Test {
 protected:
  RecurrentDecomposition() { InitializeTracing(); }

  at::Tensor input_ = M({kSteps, kBatch, kInputs});
  at::Tensor state_ = M({1, kBatch, kUnits});
  at::Tensor rows_ = M({kBatch, kUnits});  ///< A state of one layer.
};

TEST_F(RecurrentDecomposition, AnLstmIsItsSteps) {
  const Weights w = MakeWeights(4, kInputs);
  EXPECT_EQ(WorkOfOne([&] {
              at::lstm(input_, Tensors{state_, state_}, w.All(), true, 1, 0,
                       true, false, false);
            }),
            WorkOfCalls([&] {
              RunSteps(input_, {rows_, rows_}, w);
            }));
}

TEST_F(RecurrentDecomposition, AGruIsItsSteps) {
  const Weights w = MakeWeights(3, kInputs);
  EXPECT_EQ(WorkOfOne([&] {
              at::gru(input_, state_, w.All(), true, 1, 0, true, false, false);
            }),
            WorkOfCalls([&] { RunSteps(input_, {rows_}, w); }));
}

TEST_F(RecurrentDecomposition, LayersAndDirectionsFollowOnEachOther) {
  const Weights first = MakeWeights(3, kInputs);
  const Weights second = MakeWeights(3, 2 * kUnits);
  Tensors weights;
  for (const Weights& w : {first, first, second, second}) {
    for (const at::Tensor& tensor : w.All()) weights.push_back(tensor);
  }
  const at::Tensor states = M({4, kBatch, kUnits});
  const at::Tensor between = M({kSteps, kBatch, 2 * kUnits});
  EXPECT_EQ(WorkOfOne([&] {
              at::gru(input_, states, weights, true, 2, 0, true, true, false);
            }),
            WorkOfCalls([&] {
              for (int i = 0; i < 2; ++i) RunSteps(input_, {rows_}, first);
              for (int i = 0; i < 2; ++i) RunSteps(between, {rows_}, second);
            }));
}

TEST_F(RecurrentDecomposition, ABatchBeforeTheStepsIsTurned) {
  const Weights w = MakeWeights(3, kInputs);
  const at::Tensor input = M({kBatch, kSteps, kInputs});
  EXPECT_EQ(WorkOfOne([&] {
              at::gru(input, state_, w.All(), true, 1, 0, true, false, true);
            }),
            WorkOfCalls([&] {
              const at::Tensor turned = input.transpose(0, 1);
              RunSteps(turned.clone(at::MemoryFormat::Contiguous), {rows_}, w);
            }));
}

TEST_F(RecurrentDecomposition, AProjectionFollowsEveryStep) {
  constexpr std::int64_t kOutputs = 150;
  const Weights w = MakeWeights(4, kInputs, kOutputs);
  const at::Tensor projection = M({kOutputs, kUnits});
  Tensors weights = w.All();
  weights.push_back(projection);
  const at::Tensor hidden = M({1, kBatch, kOutputs});
  EXPECT_EQ(WorkOfOne([&] {
              at::lstm(input_, Tensors{hidden, state_}, weights, true, 1, 0,
                       true, false, false);
            }),
            WorkOfCalls([&] {
              RunSteps(input_, {M({kBatch, kOutputs}), rows_}, w, projection);
            }));
}

TEST_F(RecurrentDecomposition, AnLstmLaunchesTwoKernelsPerStep) {
  const Weights w = MakeWeights(4, kInputs);
  const auto kernels = [&](bool trains) {
    return KernelsOfOne([&, trains] {
      at::lstm(input_, Tensors{state_, state_}, w.All(), true, 1, 0, trains,
               false, false);
    });
  };
  const std::vector<Kernel> found = kernels(false);
  ASSERT_THAT(ClassesOf(found),
              testing::ElementsAre("linear", "linear", "elementwise"));
  EXPECT_EQ(found[0].count, 1);
  EXPECT_EQ(found[0].m, kSteps * kBatch);
  EXPECT_EQ(found[0].arithmetic, Precision::kTf32);
  EXPECT_EQ(found[1].count, kSteps);
  EXPECT_EQ(found[1].m, kBatch);
  EXPECT_TRUE(found[1].repeated);
  EXPECT_EQ(found[2].count, kSteps);
  // Both states, and in training the activated gates.
  EXPECT_EQ(found[2].bytes_out, 2 * kBatch * kUnits * 4);
  EXPECT_EQ(kernels(true)[2].bytes_out, 6 * kBatch * kUnits * 4);
}

TEST_F(RecurrentDecomposition, FewHiddenUnitsRunAllStepsInOneKernel) {
  const auto classes = [&](std::int64_t units) {
    const std::vector<at::Tensor> weights = {M({units, kInputs}),
                                             M({units, units})};
    const at::Tensor state = M({1, kBatch, units});
    return ClassesOf(KernelsOfOne([&] {
      at::rnn_tanh(input_, state, weights, false, 1, 0, false, false, false);
    }));
  };
  EXPECT_THAT(classes(384), testing::ElementsAre("linear", "linear"));
  EXPECT_THAT(classes(385),
              testing::ElementsAre("linear", "linear", "activation"));
}

TEST_F(RecurrentDecomposition, APackedSequenceRunsAsManyStepsAsItFills) {
  const Weights w = MakeWeights(3, kInputs);
  const at::Tensor packed = M({5, kInputs});
  const at::Tensor batch_sizes = at::tensor({2, 2, 1}, at::kLong);
  const std::vector<Kernel> kernels = KernelsOfOne([&] {
    at::gru(packed, batch_sizes, state_, w.All(), true, 1, 0, false, false);
  });
  ASSERT_EQ(kernels.size(), 5U);
  EXPECT_EQ(kernels[1].count, 2);
  EXPECT_EQ(kernels[1].m, 2);
  EXPECT_EQ(kernels[3].count, 1);
  EXPECT_EQ(kernels[3].m, 1);
}

/// Bytes that a call allocates and frees again.
std::int64_t ScratchBytes(const OperatorGraph& graph) {
  std::int64_t bytes = 0;
  for (const MemoryEvent& event : graph.events()) {
    const bool frees = event.kind == MemoryEvent::Kind::kFree;
    if (frees && event.node == 0) bytes += graph.storage(event.storage).bytes;
  }
  return bytes;
}

// In training they lie in the reserve, which is there beside the workspace.
TEST_F(RecurrentDecomposition, GatesOfAllStepsLieInTheWorkspace) {
  const Weights w = MakeWeights(3, kInputs);
  const auto scratch = [&](bool trains) {
    return ScratchBytes(TraceOf([&] {
      return [&, trains] {
        at::gru(input_, state_, w.All(), true, 1, 0, trains, false, false);
      };
    }));
  };
  const std::int64_t of_unit = kSteps * kBatch * kUnits * 4;
  EXPECT_EQ(scratch(true) - scratch(false), 5 * of_unit);
}

/// The gradient of one layer, of its input and of its weights.
std::function<void()> Gradient(std::int64_t mode, const at::Tensor& input,
                               const at::Tensor& state, const Weights& w) {
  const at::Tensor output = M({kSteps, kBatch, kUnits});
  const at::Tensor cell = mode == kLstmMode ? state : at::Tensor();
  const at::Tensor buffer = M({kSteps * kBatch * 6 * kUnits});
  return [=] {
    at::_cudnn_rnn_backward(input, w.All(), 4, buffer, state, cell, output,
                            output, {}, {}, mode, kUnits, 0, 1, false, 0, true,
                            false, at::IntArrayRef(), {}, buffer,
                            {true, true, true, true});
  };
}

/// What follows on the steps: the input, the weights, the biases.
void RunProductsOfGradient(const at::Tensor& input, const Weights& w) {
  const std::int64_t rows = kSteps * kBatch;
  const at::Tensor gates = M({rows, w.state.size(0)});
  at::mm(gates, w.input);
  at::mm(gates.t(), input.view({rows, kInputs}));
  at::mm(gates.t(), M({rows, kUnits}));
  for (int i = 0; i < 2; ++i) at::sum(gates, at::IntArrayRef{0});
}

TEST_F(RecurrentDecomposition, AGradientTakesEveryStepBack) {
  const Weights lstm = MakeWeights(4, kInputs);
  const Weights gru = MakeWeights(3, kInputs);
  EXPECT_EQ(WorkOfOne(Gradient(kLstmMode, input_, state_, lstm)),
            WorkOfCalls([&] {
              for (int step = 0; step < kSteps; ++step) {
                at::_thnn_fused_lstm_cell_backward_impl(
                    at::mm(M({kBatch, 4 * kUnits}), lstm.state), rows_,
                    M({kBatch, kUnits}), M({kBatch, kUnits}),
                    M({kBatch, 4 * kUnits}), false);
              }
              RunProductsOfGradient(input_, lstm);
            }));
  EXPECT_EQ(WorkOfOne(Gradient(kGruMode, input_, state_, gru)),
            WorkOfCalls([&] {
              for (int step = 0; step < kSteps; ++step) {
                at::_thnn_fused_gru_cell_backward(
                    at::mm(M({kBatch, 3 * kUnits}), gru.state),
                    M({kBatch, 5 * kUnits}), false);
              }
              RunProductsOfGradient(input_, gru);
            }));
}

TEST_F(RecurrentDecomposition, CellsAreTwoProductsAndTheGates) {
  const at::Tensor input = M({kBatch, kInputs});
  const Weights lstm = MakeWeights(4, kInputs);
  const Weights gru = MakeWeights(3, kInputs);
  const auto step = [&](const Tensors& states, const Weights& w) {
    FusedStep(at::linear(input, w.input), states, w);
  };
  EXPECT_EQ(WorkOfOne([&] {
              at::lstm_cell(input, Tensors{rows_, rows_}, lstm.input,
                            lstm.state, lstm.input_bias, lstm.state_bias);
            }),
            WorkOfCalls([&] {
              step({rows_, rows_}, lstm);
            }));
  EXPECT_EQ(WorkOfOne([&] {
              at::gru_cell(input, rows_, gru.input, gru.state, gru.input_bias,
                           gru.state_bias);
            }),
            WorkOfCalls([&] { step({rows_}, gru); }));
}

TEST_F(RecurrentDecomposition, SimpleCellsAreWrittenOut) {
  const at::Tensor w = M({4, kInputs}), u = M({4, 4}), b = M({4});
  const at::Tensor input = M({kBatch, kInputs}), state = M({kBatch, 4});
  for (const bool has_relu : {false, true}) {
    EXPECT_EQ(WorkOfOne([&] {
                has_relu ? at::rnn_relu_cell(input, state, w, u, b, b)
                         : at::rnn_tanh_cell(input, state, w, u, b, b);
              }),
              WorkOfCalls([&] {
                const at::Tensor from_state = at::addmm(b, state, u.t());
                at::Tensor gates = at::addmm(b, input, w.t());
                gates.add_(from_state);
                has_relu ? at::relu(gates) : at::tanh(gates);
              }));
  }
}

}  // namespace
}  // namespace foretell::cost
