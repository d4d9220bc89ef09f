#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "foretell/predictor.h"
#include "src/cost/kernels.h"

namespace foretell::model {

class LearnedModel;

/// Which figures come from trained networks.
enum class Method {
  kAuto,      ///< Those for which the evidence speaks, see Applies.
  kAnalytic,  ///< None.
  kLearned,   ///< All that a network can tell of such a run.
};
std::string_view MethodName(Method method);  ///< "auto", "analytic", "learned".
std::optional<Method> ParseMethod(std::string_view name);

/// What is run, beside the graph.
struct LearnedRequest {
  Method method = Method::kAuto;
  cost::ExecutionMode mode = {};
  DeviceSpec device = {};
  Environment environment = {};
};

/// Trained networks over terms (TermKind), put in the place of analytic
/// figures. Safe to use from several threads.
class LearnedPredictors {
 public:
  /// Those that are compiled into the library, described in docs/learned.md.
  static const LearnedPredictors& BuiltIn();

  /// Throws Error(kInvalidArgument) for a network that sees operators.
  explicit LearnedPredictors(std::vector<LearnedModel> models);

  const std::vector<LearnedModel>& models() const { return *models_; }

  /// Replaces figures of `prediction`, which is of `graph`, by those of the
  /// networks that fit the request, with their source:
  ///
  ///   latency  of inference under autocast, on devices that were learned from
  ///            by kKernels, on others by kPortableKernels. Its parts, and
  ///            energy at the analytic power, follow in proportion. Where the
  ///            CPU takes longer to dispatch, the analytic figure stays.
  ///   memory   of training in FP32, only for Method::kLearned: its labels do
  ///            not state their optimizer.
  ///
  /// Method::kAuto leaves graphs analytic that are further from those learned
  /// from than 99 % of them. Whatever stays for such a reason, or because
  /// Method::kLearned knows nothing of such a run, gets a warning.
  void Improve(const OperatorGraph& graph, const LearnedRequest& request,
               Prediction& prediction) const;

 private:
  std::shared_ptr<const std::vector<LearnedModel>> models_;
};

}  // namespace foretell::model
