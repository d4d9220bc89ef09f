#pragma once

#include <string>

#include "foretell/dataset.h"
#include "foretell/predictor.h"

namespace foretell::dataset {

/// Source of simulated labels: "foretell predict" if a figure may come from a
/// learned model, else "foretell analytic"; with " --grad" in grad mode.
/// `own_checkpoints`: whether the user gave checkpoints.
std::string SimulationSource(const Run& run, Method method,
                             bool own_checkpoints);

/// Environment of simulated labels, a JSON object: the context model, the host
/// (also its factor, if it is not that of the typical one, and its name) and,
/// under autocast or in grad mode, how PyTorch ran.
std::string SimulationSetting(const Run& run, const HostSpec& host,
                              const std::string& context);

/// A prediction for `device` as a label whose environment is `setting`. Memory
/// is kept even if the step does not fit; time and energy of a run that cannot
/// happen are not.
Label LabelOf(const Prediction& prediction, const DeviceSpec& device,
              const std::string& setting);

}  // namespace foretell::dataset
