#pragma once

#include "src/parallel/parallelize.h"

namespace foretell::parallel {

/// `graph`, which is one GPU's part under ModelPart(spec) and trains `trained`,
/// as one of spec.copies copies with a batch each, or cut into as many stages
/// if spec.data is kPipeline; itself if there is one copy. `passes`: of a
/// pipeline's GPU, as ShardStage takes them. Throws what ShardStage and
/// CutIntoStages throw.
OperatorGraph ShareData(OperatorGraph graph, const ParallelSpec& spec,
                        std::span<const TrainedParameter> trained,
                        std::span<const NodeId> passes = {});

/// Parallelize for kContext of a step that was traced with one GPU's tokens:
/// gradients of all GPUs are averaged, or their parameters sharded, among the
/// GPUs of all groups.
OperatorGraph ShareContext(const OperatorGraph& graph, const ParallelSpec& spec,
                           std::span<const TrainedParameter> trained);

/// Parallelize for kExpert of a step that was traced with one GPU's experts,
/// modules in a list `experts`: gradients of everything else are averaged, or
/// parameters sharded, those of experts among the GPUs that have the same.
OperatorGraph ShareExperts(const OperatorGraph& graph, const ParallelSpec& spec,
                           std::span<const TrainedParameter> trained);

}  // namespace foretell::parallel
