#pragma once

#include <map>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/graph.h"
#include "foretell/run.h"
#include "src/model/learned_figure.h"
#include "src/model/learned_model.h"

namespace foretell::model {

/// What a graph is run on and how, as far as a network sees it. What it refers
/// to must outlive it.
struct GraphContext {
  const DeviceSpec* device = nullptr;
  const ContextModel* context = nullptr;  ///< For terms of memory.
  /// For terms of kernels, and for columns of the setting.
  Run run = {};
  Host prior_host = Host::kPython;  ///< For costs of nodes.
  /// Every node is joined to the next one alone, as in training.
  bool chain = false;
  /// Of the network's prior, where it has one.
  TargetValues prior = kNoValues;
  const std::map<std::string, double>* prior_figures = nullptr;
};

/// What the network says of one graph: a figure per target, in the order of its
/// outputs. Throws Error(kInvalidArgument) for a graph without nodes and for
/// inputs of the network that the context lacks.
std::vector<LearnedFigure> PredictGraph(const LearnedModel& learned,
                                        const OperatorGraph& graph,
                                        const GraphContext& context);

}  // namespace foretell::model
