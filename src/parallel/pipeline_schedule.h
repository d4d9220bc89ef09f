#pragma once

#include <vector>

#include "foretell/parallel.h"

namespace foretell::parallel {

/// A pass of one micro-batch through one stage.
struct PipelineAction {
  int stage = 0;
  int micro_batch = 0;
  bool is_backward = false;
};

/// Stages of the whole pipeline.
constexpr int StagesOf(const ParallelSpec& spec) {
  return spec.gpus * spec.stages_per_gpu;
}

/// The GPU that has the stage.
constexpr int GpuOfStage(const ParallelSpec& spec, int stage) {
  return stage % spec.gpus;
}

/// The passes of a GPU, counted from 0, in their order. Throws
/// Error(kInvalidArgument) for a number of micro-batches that rounds of
/// kInterleaved cannot share evenly.
std::vector<PipelineAction> ActionsOf(const ParallelSpec& spec, int gpu);

/// The most micro-batches, counted by stage, whose forward pass is over and
/// whose backward pass is not.
int MostInFlight(const std::vector<PipelineAction>& actions);

}  // namespace foretell::parallel
