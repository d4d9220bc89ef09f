#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/correct/fit_correction.h"

namespace foretell {

/// Some of the rows of a fit.
using Rows = std::vector<const PredictedRow*>;

const std::optional<double>& Measured(const PredictedRow& row, Target target);

/// Those of `rows` that have the figure.
Rows With(Target target, const Rows& rows);

/// The terms of `targets` fitted to `rows`, instead of those of `start`, which
/// has the host of the predictions. A target that no row has keeps its terms.
CorrectionTerms FitRows(const Rows& rows, std::span<const Target> targets,
                        const CorrectionTerms& start);

/// A figure of a row once it is corrected.
double Corrected(const CorrectionTerms& terms, const PredictedRow& row,
                 Target target);

}  // namespace foretell
