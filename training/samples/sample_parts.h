#pragma once

#include "training/samples/selection.h"

namespace foretell::training {

/// Says which part of SampleOptions::split each draft is in. Throws
/// Error(kNotFound) for a split that the dataset does not have and that is not
/// made.
void AddParts(Selection& selection);

}  // namespace foretell::training
