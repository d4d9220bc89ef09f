#pragma once

#include <cstdint>
#include <functional>

#include "foretell/measure.h"
#include "src/measure/energy_counter.h"

namespace foretell::measure {

/// The work to measure the energy of.
struct EnergyWork {
  /// Performs this many runs back to back and returns once they are done.
  std::function<void(std::int64_t runs)> run;
  /// Time of one run as measured before, seconds, > 0. Determines the number of
  /// runs between two readings of the counter.
  double run_s = 0;
};

/// Energy of one run of `work`: see energy_window.cc for the method. Adds a
/// note "energy" if nothing could be measured; nothing is estimated. Requires:
/// valid `options` (windows >= 0, repeats >= 1).
MeasuredEnergy MeasureEnergy(const EnergyWork& work, EnergyCounter& counter,
                             Clock& clock, const EnergyOptions& options,
                             std::vector<MeasureNote>& notes);

}  // namespace foretell::measure
