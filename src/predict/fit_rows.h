#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/predict/fit_adaptation.h"

namespace foretell {

/// Some of the rows of a fit.
using Rows = std::vector<const PredictedRow*>;

const std::optional<double>& Measured(const PredictedRow& row, Target target);

/// Those of `rows` that have the figure.
Rows With(Target target, const Rows& rows);

/// The corrections of `targets` fitted to `rows`, instead of those of `about`.
/// A target that no row has keeps that of `about`.
Adaptation FitRows(const Rows& rows, std::span<const Target> targets,
                   const Adaptation& about);

/// A figure of a row once it is adapted.
double Adapted(const Adaptation& adaptation, const PredictedRow& row,
               Target target);

}  // namespace foretell
