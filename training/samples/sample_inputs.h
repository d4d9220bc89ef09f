#pragma once

#include "training/samples/selection.h"

namespace foretell::training {

/// Looks up the devices of all drafts in the catalogue if a prior, terms, costs
/// of nodes or columns need them. Decides for a new recipe whether folded norms
/// are restored: not if all labels were simulated, because a simulation uses
/// the file as is. Throws Error(kNotFound) for a device that the catalogue does
/// not have.
void FindDevices(Selection& selection);

/// Adds graph-level numbers, one per column. A recipe without columns gets
/// those of the options: static features; figures of the device; the prior's;
/// one per value of each setting key.
void AddInputs(Selection& selection);

}  // namespace foretell::training
