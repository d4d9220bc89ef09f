#include "training/judge/answers.h"

namespace foretell::training {

std::vector<Answer> AnswersOf(std::span<const PredictedSample> predictions,
                              const learned::LearnedModel* model) {
  std::vector<Answer> answers;
  for (const PredictedSample& prediction : predictions) {
    Answer answer{.sample = prediction.sample, .values = prediction.values};
    for (const learned::Target target : learned::kAllTargets) {
      const double value = ValueOf(prediction.values, target);
      if (model == nullptr || !learned::IsKnown(value)) continue;
      answer.intervals[static_cast<std::size_t>(target)] =
          model->IntervalOf(target, value);
    }
    answers.push_back(answer);
  }
  return answers;
}

}  // namespace foretell::training
