#include "src/parallel/pipeline_schedule.h"

#include <fmt/core.h>

#include <algorithm>

#include "foretell/error.h"

// The orders of torch.distributed.pipelining (schedules.py, 2.13):
// ScheduleGPipe, Schedule1F1B and ScheduleInterleaved1F1B.

namespace foretell::parallel {
namespace {

std::vector<PipelineAction> InGpipe(int gpu, int batches) {
  std::vector<PipelineAction> actions;
  for (const bool is_backward : {false, true}) {
    for (int i = 0; i < batches; ++i) actions.push_back({gpu, i, is_backward});
  }
  return actions;
}

/// The last GPU runs one forward pass ahead, each one before it one more.
std::vector<PipelineAction> In1F1B(int gpu, int gpus, int batches) {
  std::vector<PipelineAction> actions;
  int forward = 0;
  while (forward < std::min(batches, gpus - gpu)) {
    actions.push_back({gpu, forward++, false});
  }
  for (int backward = 0; backward < batches; ++backward) {
    actions.push_back({gpu, backward, true});
    if (forward < batches) actions.push_back({gpu, forward++, false});
  }
  return actions;
}

/// Micro-batches go round by round through the stages of a GPU.
class Interleaved {
 public:
  Interleaved(const ParallelSpec& spec, int gpu)
      : spec_(spec),
        gpu_(gpu),
        batches_(MicroBatchesOf(spec)),
        rounds_(std::max(1, batches_ / spec.gpus)),
        per_round_(batches_ / rounds_) {
    if (batches_ % rounds_ == 0) return;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: {} micro-batches are not a multiple of {} "
                            "rounds through the stages of a GPU",
                            ToString(spec), batches_, rounds_));
  }

  std::vector<PipelineAction> Actions() const {
    const int passes = batches_ * spec_.stages_per_gpu;
    const int ahead = std::min(
        (spec_.stages_per_gpu - 1) * per_round_ + 2 * (spec_.gpus - 1 - gpu_),
        passes);
    std::vector<PipelineAction> actions;
    int forward = 0;
    while (forward < ahead) actions.push_back(Pass(forward++, false));
    for (int backward = 0; backward < passes; ++backward) {
      if (forward < passes) actions.push_back(Pass(forward++, false));
      actions.push_back(Pass(backward, true));
    }
    return actions;
  }

 private:
  PipelineAction Pass(int i, bool is_backward) const {
    const int turn = i / per_round_;
    const int at = turn % spec_.stages_per_gpu;
    const int local = is_backward ? spec_.stages_per_gpu - 1 - at : at;
    const int round = turn / spec_.stages_per_gpu;
    return {local * spec_.gpus + gpu_, round * per_round_ + i % per_round_,
            is_backward};
  }

  const ParallelSpec& spec_;
  int gpu_;
  int batches_;
  int rounds_;
  int per_round_;
};

}  // namespace

std::vector<PipelineAction> ActionsOf(const ParallelSpec& spec, int gpu) {
  switch (spec.schedule) {
    case PipelineSchedule::kGpipe:
      return InGpipe(gpu, MicroBatchesOf(spec));
    case PipelineSchedule::k1F1B:
      return In1F1B(gpu, spec.gpus, MicroBatchesOf(spec));
    case PipelineSchedule::kInterleaved:
      break;
  }
  return Interleaved(spec, gpu).Actions();
}

int MostInFlight(const std::vector<PipelineAction>& actions) {
  int live = 0;
  int most = 0;
  for (const PipelineAction& action : actions) {
    live += action.is_backward ? -1 : 1;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace foretell::parallel
