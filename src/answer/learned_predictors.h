#pragma once

#include <memory>
#include <vector>

#include "src/answer/learned_figures.h"

namespace foretell::learned {

class LearnedModel;

/// Trained term networks, whose figures replace analytic ones. Safe to use from
/// several threads.
class LearnedPredictors : public LearnedFigures {
 public:
  /// Those that are compiled into the library, described in docs/learned.md.
  static const LearnedPredictors& BuiltIn();

  /// Throws Error(kInvalidArgument) for a network that sees operators.
  explicit LearnedPredictors(std::vector<LearnedModel> models);

  const std::vector<LearnedModel>& models() const { return *models_; }

  /// Uses the figures of the networks that fit the request:
  ///
  ///   latency  of inference under autocast, on devices that were learned from
  ///            by kKernels, on others by the mean of kPortableKernels and the
  ///            analytic figure, on GPUs of the A100's chip only for
  ///            Method::kLearned. Its parts, and energy at the analytic power,
  ///            follow in proportion. Where the CPU needs longer to dispatch,
  ///            the analytic figure stays.
  ///   memory   of training in FP32 or TF32, only for Method::kLearned; what an
  ///            optimizer needs beyond that of its labels is simulated.
  ///
  /// Method::kAuto leaves graphs analytic that are further from those learned
  /// from than 99 % of them. A figure that stays for such a reason, or because
  /// Method::kLearned knows nothing of such a run, gets a warning.
  void Improve(const LearnedRequest& request,
               Prediction& prediction) const override;

 private:
  std::shared_ptr<const std::vector<LearnedModel>> models_;
};

}  // namespace foretell::learned
