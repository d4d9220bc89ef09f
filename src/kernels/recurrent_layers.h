#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/kernels/composite_steps.h"
#include "src/kernels/recurrent_kind.h"

namespace foretell::cost {

/// Weights of one layer in one direction.
struct Cell {
  ValueId input_weight;                  ///< [gates * units, inputs]
  ValueId state_weight;                  ///< [gates * units, outputs]
  std::vector<ValueId> biases;           ///< [gates * units] each
  std::optional<ValueId> output_weight;  ///< [outputs, units]: projection.
};

/// Operands of a recurrent layer, or of its gradient.
struct Layers {
  ValueId input;
  std::vector<ValueId> states;  ///< Hidden, and of an LSTM the cell state.
  std::vector<Cell> cells;
  std::int64_t directions = 1;
};

/// Rows of the steps: `full` steps of `batch` rows, one of `rest`.
struct StepRows {
  std::int64_t full = 0;
  std::int64_t batch = 0;
  std::int64_t rest = 0;
};

/// Sorts the operator's operands, of which those from the second one to before
/// `end_of_weights` hold the weights. Empty for operands that no layer of
/// `kind` has.
std::optional<Layers> SortLayers(CompositeSteps& steps,
                                 const RecurrentKind& kind,
                                 std::size_t end_of_weights);

/// Steps of a layer whose input is `input`, [steps, batch, inputs] or packed:
/// [tokens, inputs], as many full batches as they fill.
StepRows StepRowsOf(CompositeSteps& steps, const Layers& layers, ValueId input);

/// True when one kernel runs all steps of `cell`.
bool IsPersistent(CompositeSteps& steps, const RecurrentKind& kind,
                  const Cell& cell, ValueId input);

/// The input with its steps first: a batch before them is copied.
ValueId StepsFirst(CompositeSteps& steps, const Layers& layers);
bool IsBatchFirst(CompositeSteps& steps, const Layers& layers);

/// Writes the steps of `lstm`, `gru`, `rnn_tanh` or `rnn_relu`, or of their
/// gradient. False for every other operator, and for operands that it does not
/// understand.
bool WriteRecurrent(CompositeSteps& steps);
bool WriteRecurrentGradient(CompositeSteps& steps);

}  // namespace foretell::cost
