#pragma once

#include <vector>

#include "foretell/graph.h"
#include "src/answer/learned_figure.h"
#include "src/answer/learned_model.h"
#include "src/network/make_input.h"

namespace foretell::learned {

/// The network's prediction for one graph on a subject: a figure per target, in
/// the order of its outputs. Its prior is the analytic one. Throws
/// Error(kInvalidArgument) for a graph without nodes and for columns that the
/// subject does not have.
std::vector<LearnedFigure> PredictGraph(const LearnedModel& learned,
                                        const OperatorGraph& graph,
                                        const InputSubject& subject);

}  // namespace foretell::learned
