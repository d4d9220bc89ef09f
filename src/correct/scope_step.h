#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "foretell/correction.h"
#include "foretell/graph.h"

namespace foretell {

/// What one run's graph shows.
struct ShownStep {
  std::vector<double> factors;  ///< Values, in the order of the names.
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> inputs;
  std::int64_t operators = 0;
  std::int64_t parameters = 0;
};
ShownStep ShownBy(const OperatorGraph& graph, std::vector<double> factors);

/// What `runs` of one model have in common; `names` are its factors. Requires
/// at least one run.
ScopeStep CommonStep(std::span<const ShownStep> runs,
                     std::span<const std::string> names);

/// Values of factors by name.
using FactorValues = std::map<std::string, double>;

/// What `graph`, at `factors`, has otherwise than the runs had: "dimension 2 of
/// input 'x' 320, of 224", "operators 312, of 104". A size that followed a
/// factor is compared with the factor's value here.
std::vector<std::string> DifferencesFrom(const ScopeStep& step,
                                         const OperatorGraph& graph,
                                         const FactorValues& factors);

}  // namespace foretell
