#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "foretell/graph.h"
#include "src/parallel/parallelize.h"

namespace foretell::parallel {

/// Index of a parameter; kNone: no parameter.
using ParameterIndex = std::int32_t;

/// A parameter of the step.
struct Parameter {
  ValueId value = kNone;  ///< The source, in the parameter's own shape.
  StorageId storage = kNone;
  /// kNone: it is not trained. cuDNN's recurrent layers have those of all their
  /// parameters in one storage.
  StorageId gradient = kNone;
  NodeId ready = kNone;  ///< The last node that writes that storage.
  /// The gradient, as the backward pass leaves it; of several of one shape in
  /// that storage the last, whose bytes are the same.
  ValueId last_gradient = kNone;
  /// Sources that are the whole parameter, including `value`: with recomputed
  /// blocks, the step reads the result of the previous step's optimizer.
  std::vector<ValueId> sources = {};
};

/// Facts about a training step for plans.
struct StepFacts {
  StepFacts(const OperatorGraph& graph,
            std::span<const TrainedParameter> trained);

  std::vector<Parameter> parameters;
  /// Trained ones, in the order in which their gradients are ready.
  std::vector<ParameterIndex> by_ready;
  /// By storage: the parameter that it is, or whose gradient, optimizer state
  /// or temporary it is.
  std::vector<ParameterIndex> owner;
  NodeId first_forward = kNone;
  /// The last node of the network itself: the loss follows, unless the graph
  /// has no results, as most stages of a pipeline.
  NodeId last_forward = kNone;
  NodeId last_backward = kNone;
  NodeId last_optimizer = kNone;

  ParameterIndex OwnerOf(StorageId storage) const {
    return owner[static_cast<std::size_t>(storage)];
  }
  /// The parameter whose gradient `value` is, kNone if none: of several that
  /// share its storage one that has its shape.
  ParameterIndex GradientOf(const OperatorGraph& graph,
                            const Value& value) const;
  /// Those of `indices` that have a gradient.
  std::vector<ParameterIndex> TrainedOf(
      const std::vector<ParameterIndex>& indices) const;
};

}  // namespace foretell::parallel
