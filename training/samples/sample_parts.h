#pragma once

#include "training/samples/selection.h"

namespace foretell::training {

/// Sets which part of SampleOptions::split each draft is in. Throws
/// Error(kNotFound) for a split that the dataset does not have and that cannot
/// be made.
void AddParts(Selection& selection);

}  // namespace foretell::training
