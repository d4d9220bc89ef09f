#pragma once

#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/predictor.h"
#include "src/cli/sample_flags.h"
#include "src/model/learned_model.h"
#include "src/model/learned_predictors.h"

namespace foretell::cli {

/// Networks that the user trained, in the place of those that come with
/// foretell.
class OwnCheckpoints {
 public:
  /// Reads `paths`. The environments that priors were made for come from
  /// `catalog`. Throws what LearnedModel::Load throws, and
  /// Error(kInvalidArgument) for a prior other than the analytic one and for
  /// two checkpoints of one figure.
  OwnCheckpoints(const std::vector<std::string>& paths,
                 const DeviceCatalog& catalog);

  bool empty() const { return models_.empty(); }

  /// Puts the networks' figures in the place of those of `prediction`, which is
  /// of `graph`. `label_environment` is JSON as a label of such a run has it.
  /// The networks are taken at their word: nothing decides whether they fit,
  /// but what they do not know becomes a warning.
  void Improve(const OperatorGraph& graph, const model::LearnedRequest& request,
               const std::string& label_environment,
               Prediction& prediction) const;

 private:
  struct Own {
    std::string path;
    model::LearnedModel learned;
    Environment environment;  ///< Of the prior, and of terms of memory.
    SampleFlags as_trained;   ///< What the checkpoint decides.
  };

  std::vector<Own> models_;
};

}  // namespace foretell::cli
