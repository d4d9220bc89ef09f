#pragma once

#include <span>
#include <vector>

#include "src/predict/learned_model.h"
#include "training/fit/residuals.h"
#include "training/judge/evaluation.h"

namespace foretell::training {

/// Predictions with the intervals of `model`, which may be null.
std::vector<Answer> AnswersOf(std::span<const PredictedSample> predictions,
                              const learned::LearnedModel* model);

}  // namespace foretell::training
