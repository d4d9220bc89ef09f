#pragma once

#include <span>

#include "foretell/graph.h"
#include "foretell/parallel.h"

namespace foretell::parallel {

/// A parameter that the step trains, by the storages of it and its gradient.
struct TrainedParameter {
  StorageId parameter = kNone;
  StorageId gradient = kNone;
};

/// The step of `graph` as the first of `spec.gpus` GPUs runs it, with exchanges
/// as nodes of OpKind::kCollective (src/graph/collective.h) and their buffers;
/// docs/parallel.md has the rules. The step of kOneGpu is the graph itself.
///
/// Throws Error(kInvalidArgument) for a step that trains nothing unless
/// SharesInference, for blocks without a parameter, and if no layer can be
/// shared evenly.
OperatorGraph Parallelize(const OperatorGraph& graph, const ParallelSpec& spec,
                          std::span<const TrainedParameter> trained);

}  // namespace foretell::parallel
