#pragma once

#include <map>
#include <string>
#include <vector>

#include "foretell/calibration.h"

namespace foretell {

/// Values of factors by name.
using FactorValues = std::map<std::string, double>;

/// What `graph`, at `factors`, has otherwise than the runs had: "dimension 2 of
/// input 'x' 320, of 224", "operators 312, of 104". A size that followed a
/// factor is compared with the factor's value here.
std::vector<std::string> DifferencesFrom(const CalibratedStep& step,
                                         const OperatorGraph& graph,
                                         const FactorValues& factors);

}  // namespace foretell
