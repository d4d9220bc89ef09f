#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "src/answer/learned_figures.h"

namespace foretell::learned {

struct PmgnsNetwork;

/// PMGNS, the network of the DIPPM paper, for Method::kPmgns. Safe to use from
/// several threads.
class PmgnsPredictors : public LearnedFigures {
 public:
  /// Those that are compiled into the library, described in docs/learned.md.
  static const PmgnsPredictors& BuiltIn();

  explicit PmgnsPredictors(std::vector<PmgnsNetwork> networks);

  const std::vector<PmgnsNetwork>& networks() const { return *networks_; }

  /// Uses all figures that a network has learned from such runs; those that no
  /// network has stay analytic and get a warning. If labels were simulated, the
  /// range is the analytic one in proportion, and a figure that is further from
  /// the model which made the labels than on networks kept out gets a warning.
  /// Memory holds the context of the request, not that of the labels. Throws
  /// Error(kInvalidArgument) if no network knows any figure of the run.
  void Improve(const LearnedRequest& request,
               Prediction& prediction) const override;

 private:
  std::shared_ptr<const std::vector<PmgnsNetwork>> networks_;
};

}  // namespace foretell::learned
