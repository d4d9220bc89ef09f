#include "training/judge/judge_samples.h"

#include <optional>
#include <span>

#include "src/answer/learned_model.h"
#include "src/core/failure.h"
#include "training/fit/compute_device.h"
#include "training/fit/predict_samples.h"
#include "training/judge/method_text.h"

namespace foretell::training {
namespace {

constexpr char kAnalyticMethod[] = "analytic";

std::string SelectionOf(const JudgeOptions& options) {
  return SelectionText(options.samples.split,
                       std::string(PartName(options.part)));
}

std::vector<std::size_t> ChosenSamples(const JudgeOptions& options,
                                       const SampleSet& set) {
  const bool all = options.samples.split == kNoSplit;
  std::vector<std::size_t> indices =
      set.ForJudging(set.PartOf(all ? Part::kTrain : options.part));
  if (indices.empty()) {
    throw InvalidArgument("{}: no sample in {}{}", options.samples.dataset,
                          SelectionOf(options),
                          all ? "" : "; --split none uses all labels");
  }
  return indices;
}

std::vector<PredictedSample> PredictionsBy(learned::LearnedModel& model,
                                           const OpenedSamples& opened,
                                           std::span<const std::size_t> indices,
                                           const std::string& compute) {
  CheckFits(model.info(), opened.set);
  model.network().to(ComputeDevice(compute));
  Communicator alone;
  std::vector<PredictedSample> predictions =
      PredictSamples({.store = *opened.store,
                      .set = opened.set,
                      .info = model.info(),
                      .network = model.network(),
                      .communicator = alone},
                     indices)
          .predictions;
  AddIntervals(model, predictions);
  return predictions;
}

}  // namespace

Judgement JudgeSamples(JudgeOptions options) {
  std::optional<learned::LearnedModel> model;
  if (!options.checkpoint.empty()) {
    model = learned::LearnedModel::Load(options.checkpoint);
    FollowCheckpoint(model->info(), options.samples);
  } else if (options.samples.prior == PriorSource::kNone) {
    options.samples.prior = PriorSource::kAnalytic;
    options.samples.prior_host.reset();  // What is judged is what predict says.
  }
  Judgement judgement{.opened = OpenSamples(options.samples)};
  const SampleSet& set = judgement.opened.set;
  const std::vector<std::size_t> indices = ChosenSamples(options, set);
  judgement.predictions =
      model ? PredictionsBy(*model, judgement.opened, indices, options.compute)
            : PriorAsPrediction(set, indices);
  Evaluation& evaluation = judgement.evaluation;
  evaluation = Evaluate(set, judgement.predictions, learned::kAllTargets,
                        judgement.opened.OnlyDevice());
  evaluation.method =
      model ? MethodText(model->info().network, model->info().recipe.prior)
            : kAnalyticMethod;
  evaluation.dataset = options.samples.dataset;
  evaluation.selection = SelectionOf(options);
  return judgement;
}

}  // namespace foretell::training
