#include "src/kernels/recurrent_layers.h"

#include <algorithm>

#include "src/graph/attributes.h"
#include "src/kernels/composite_calls.h"

namespace foretell::cost {
namespace {

/// Matrices begin a cell; every second one, or third with projections, a new
/// one.
void SortWeights(CompositeSteps& steps, const std::vector<ValueId>& weights,
                 Layers& layers) {
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

std::size_t NumStates(const RecurrentKind& kind) {
  return kind.has_cell_state ? 2 : 1;
}

bool IsUnderstood(CompositeSteps& steps, const RecurrentKind& kind,
                  const Layers& layers) {
  const std::size_t rank = steps.RankOf(layers.input);
  const std::int64_t num_cells = std::ssize(layers.cells);
  if (layers.states.size() != NumStates(kind) || num_cells == 0 ||
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

}  // namespace

std::optional<Layers> SortLayers(CompositeSteps& steps,
                                 const RecurrentKind& kind,
                                 std::size_t end_of_weights) {
  if (steps.num_operands() < 2) return std::nullopt;
  Layers layers = {.input = steps.Operand(0), .states = {}, .cells = {}};
  layers.directions = FlagOf(steps.node(), "bidirectional") ? 2 : 1;
  std::vector<ValueId> weights;
  for (std::size_t i = 1; i < steps.num_operands(); ++i) {
    const ValueId id = steps.Operand(i);
    if (!IsFloatingPoint(steps.TypeOf(id))) continue;  // Batch sizes.
    if (steps.RankOf(id) != 3) {
      if (i < end_of_weights) weights.push_back(id);
    } else if (layers.states.size() < NumStates(kind)) {
      layers.states.push_back(id);
    }
  }
  SortWeights(steps, weights, layers);
  if (!IsUnderstood(steps, kind, layers)) return std::nullopt;
  return layers;
}

StepRows StepRowsOf(CompositeSteps& steps, const Layers& layers,
                    ValueId input) {
  const std::int64_t batch = steps.Size(layers.states.front(), 1);
  if (steps.RankOf(input) == 3) {
    return {.full = steps.Size(input, 0), .batch = batch, .rest = 0};
  }
  const std::int64_t tokens = steps.Size(input, 0);
  return {.full = tokens / batch, .batch = batch, .rest = tokens % batch};
}

bool IsPersistent(CompositeSteps& steps, const RecurrentKind& kind,
                  const Cell& cell, ValueId input) {
  return !cell.output_weight && steps.RankOf(input) == 3 &&
         steps.TypeOf(input) != DType::kF64 &&
         steps.TypeOf(input) != DType::kBF16 &&
         steps.Size(cell.state_weight, 1) <= kind.most_persistent_units;
}

bool IsBatchFirst(CompositeSteps& steps, const Layers& layers) {
  return steps.RankOf(layers.input) == 3 && FlagOf(steps.node(), "batch_first");
}

ValueId StepsFirst(CompositeSteps& steps, const Layers& layers) {
  const ValueId turned = IsBatchFirst(steps, layers)
                             ? Transpose(steps, layers.input, 0, 1)
                             : layers.input;
  const Shape shape = steps.ShapeOf(turned);
  if (IsContiguous(shape, steps.StridesOf(turned))) return turned;
  return steps.Call("contiguous", {turned}, shape);
}

}  // namespace foretell::cost
