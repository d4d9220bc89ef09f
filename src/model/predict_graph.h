#pragma once

#include <map>
#include <string>
#include <vector>

#include "foretell/cost.h"
#include "foretell/device.h"
#include "foretell/graph.h"
#include "src/cost/kernels.h"
#include "src/model/learned_figure.h"
#include "src/model/learned_model.h"

namespace foretell::model {

/// What a graph is run on and how, as far as a network sees it. What it refers
/// to must outlive it.
struct GraphContext {
  const DeviceSpec* device = nullptr;
  const Environment* environment = nullptr;  ///< For terms of memory.
  cost::ExecutionMode mode = {};             ///< For terms of kernels.
  CostOptions cost = {};                     ///< For costs of nodes.
  /// Every node is joined to the next one alone, as in training.
  bool chain = false;
  /// Of the network's prior, where it has one.
  TargetValues prior = kNoValues;
  const std::map<std::string, double>* prior_figures = nullptr;
  /// JSON object, as a label of such a run would have it.
  std::string label_environment = "{}";
};

/// What the network says of one graph: a figure per target, in the order of its
/// outputs. Throws Error(kInvalidArgument) for a graph without nodes and for
/// inputs of the network that the context lacks.
std::vector<LearnedFigure> PredictGraph(const LearnedModel& learned,
                                        const OperatorGraph& graph,
                                        const GraphContext& context);

}  // namespace foretell::model
