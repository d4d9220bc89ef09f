#pragma once

#include "foretell/dataset.h"
#include "src/features/targets.h"
#include "training/samples/selection.h"

namespace foretell::training {

/// Creates a draft for every matching label with a graph and a figure for a
/// target; counts the others, and lists devices, sources and settings. Throws
/// Error(kInvalidArgument) as LabelFilter, and when no label is left.
void JoinLabels(Selection& selection);

/// A label's figure for each target; unknown if missing or 0.
learned::TargetValues FiguresOf(const Label& label);

}  // namespace foretell::training
