#pragma once

#include <string>
#include <vector>

#include "src/answer/learned_figures.h"
#include "src/answer/learned_model.h"

namespace foretell::learned {

/// Networks that the user trained, instead of those that come with foretell.
/// Their predictions are used as is: nothing decides whether they fit, but what
/// they do not know becomes a warning, and what no network could cost an error
/// (RefuseImplausible).
class OwnCheckpoints : public LearnedFigures {
 public:
  /// Reads `paths`. The context models that priors were made for come from
  /// `catalog`. Throws what LearnedModel::Load throws, and
  /// Error(kInvalidArgument) for a prior other than the analytic one and for
  /// two checkpoints of one figure.
  OwnCheckpoints(const std::vector<std::string>& paths,
                 const DeviceCatalog& catalog);

  void Improve(const LearnedRequest& request,
               Prediction& prediction) const override;

 private:
  struct Own {
    std::string path;
    LearnedModel learned;
    ContextModel context;  ///< The recipe's.
    bool has_drifted;      ///< What it sees is not what it was trained on.
  };

  static void ImproveBy(const Own& own, const LearnedRequest& request,
                        Prediction& prediction);

  std::vector<Own> models_;
};

}  // namespace foretell::learned
