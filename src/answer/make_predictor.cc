#include "foretell/error.h"
#include "foretell/predictor.h"
#include "src/answer/learned_predictors.h"
#include "src/answer/own_checkpoints.h"
#include "src/answer/pmgns_predictors.h"

namespace foretell {

Predictor Predictor::Make(const DeviceSpec& device, const Run& run,
                          const PredictorOptions& options) {
  Predictor predictor = Analytic(device, run, options);
  // Networks learned from PyTorch's own operators.
  if (run.runtime.runtime != Runtime::kEager) {
    if (options.method == Method::kAuto && options.checkpoints.empty()) {
      return predictor;
    }
    if (options.method != Method::kAnalytic || !options.checkpoints.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "runtime " + ToString(run.runtime) +
                      ": learned predictors know eager PyTorch alone; expected "
                      "method auto or analytic, and no checkpoint");
    }
  }
  if (!options.checkpoints.empty()) {
    const DeviceCatalog& catalog = options.catalog == nullptr
                                       ? DeviceCatalog::BuiltIn()
                                       : *options.catalog;
    predictor.learned_ = std::make_shared<const learned::OwnCheckpoints>(
        options.checkpoints, catalog);
  } else if (options.method == Method::kPmgns) {
    predictor.learned_ = std::make_shared<const learned::PmgnsPredictors>(
        learned::PmgnsPredictors::BuiltIn());
  } else if (options.method != Method::kAnalytic) {
    predictor.learned_ = std::make_shared<const learned::LearnedPredictors>(
        learned::LearnedPredictors::BuiltIn());
  }
  return predictor;
}

}  // namespace foretell
