#pragma once

#include "src/network/network.h"
#include "training/fit/trainer_options.h"

namespace foretell::training {

/// Options for a network of `kind` where the user gives none: `usual`, which is
/// for networks over operators; for those over terms the size, loss and course
/// with which the shipped predictors of their figure were trained
/// (docs/how_learned.md).
TrainerOptions TypicalOptions(learned::NetworkKind kind,
                              const TrainerOptions& usual);

}  // namespace foretell::training
