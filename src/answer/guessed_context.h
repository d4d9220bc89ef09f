#pragma once

namespace foretell {

/// MiB by which a context is more uncertain, to either side, if the run does
/// not name its environment: with the 80 that each environment states, contexts
/// of PyTorch 2 that were measured or reported lie within 150 MiB of the
/// default's (data/environments.json).
inline constexpr double kGuessedContextMib = 70;

}  // namespace foretell
