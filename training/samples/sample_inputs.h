#pragma once

#include "training/samples/selection.h"

namespace foretell::training {

/// Looks up the devices of all drafts in the catalogue where a prior, terms,
/// costs of nodes or columns ask for them. Decides of a new recipe whether
/// folded norms are restored: not where all labels were simulated, as what was
/// simulated from a file is of the file as it is. Throws Error(kNotFound) for
/// a device that the catalogue does not have.
void FindDevices(Selection& selection);

/// Numbers of the graphs as a whole, one per column. A recipe without columns
/// gets those that the options ask for: static features; figures of the
/// device; the prior's; one per value of each setting key.
void AddInputs(Selection& selection);

}  // namespace foretell::training
