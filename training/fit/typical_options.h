#pragma once

#include "src/network/network.h"
#include "training/fit/trainer_options.h"

namespace foretell::training {

/// Default options for a network of `kind`: `usual` for networks over
/// operators; for those over terms the size, loss and schedule of the shipped
/// predictors of their figure (docs/how_learned.md).
TrainerOptions TypicalOptions(learned::NetworkKind kind,
                              const TrainerOptions& usual);

}  // namespace foretell::training
