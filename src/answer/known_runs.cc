#include "src/answer/known_runs.h"

#include <algorithm>

namespace foretell::learned {
namespace {

bool IsCastAs(Casting casting, const LearnedRequest& request) {
  const Run& run = request.run;
  if (casting == Casting::kAutocast) {
    // Labels are of FP16; tensor cores run BF16 at the same rate, and both
    // have two bytes.
    return run.autocast;
  }
  const bool is_known = casting == Casting::kNone ||
                        run.precision == Precision::kFp32 ||
                        run.precision == Precision::kTf32;
  return !run.autocast && is_known;
}

}  // namespace

bool KnowsSuchRuns(const KnownRuns& runs, const CheckpointInfo& info,
                   const LearnedRequest& request) {
  const bool known = std::ranges::count(info.devices, request.device.name) > 0;
  return runs.mode == request.run.mode && IsCastAs(runs.casting, request) &&
         runs.known_device.value_or(known) == known;
}

std::string DispatchObjection(const LearnedFigure& figure,
                              const Prediction& prediction) {
  if (figure.target != Target::kLatency ||
      prediction.cost.dispatch_ms <= figure.value) {
    return "";
  }
  return "the CPU takes longer to dispatch the operators than the GPU is "
         "predicted to be busy";
}

}  // namespace foretell::learned
