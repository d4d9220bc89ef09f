#include "training/fit/predict_samples.h"

#include <ATen/ATen.h>

#include <unordered_map>

#include "src/answer/learned_model.h"
#include "src/core/failure.h"
#include "src/core/text.h"
#include "training/fit/huber.h"
#include "training/samples/batch_loader.h"

namespace foretell::training {
namespace {

using learned::kNumTargets;

/// Batches that this worker computes: every size-th.
BatchPlan OwnBatches(const BatchPlan& plan, const Communicator& communicator) {
  BatchPlan own;
  for (auto i = static_cast<std::size_t>(communicator.rank()); i < plan.size();
       i += static_cast<std::size_t>(communicator.size())) {
    own.push_back(plan[i]);
  }
  return own;
}

/// Numbers of a pass in one array, to be summed over workers: a row of values
/// per sample, then the loss and its weight.
class PassArray {
 public:
  explicit PassArray(std::span<const std::size_t> indices)
      : numbers_(at::zeros({std::ssize(indices) * kColumns + 2}, at::kDouble)) {
    for (std::size_t i = 0; i < indices.size(); ++i) row_[indices[i]] = i;
  }

  void Put(std::size_t sample, const learned::TargetValues& values) {
    double* row = data() + row_.at(sample) * kNumTargets;
    std::ranges::copy(values, row);
  }
  void AddLoss(double loss, double weight) {
    data()[numbers_.numel() - 2] += loss;
    data()[numbers_.numel() - 1] += weight;
  }
  at::Tensor& numbers() { return numbers_; }

  PassResult Read(const SampleSet& set, std::span<const std::size_t> indices) {
    PassResult result;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      PredictedSample prediction{.sample = indices[i],
                                 .truth = set.samples[indices[i]].targets};
      std::copy_n(data() + i * kNumTargets, kNumTargets,
                  prediction.predicted.begin());
      result.sums.Add(prediction);
      result.predictions.push_back(prediction);
    }
    result.sums.loss = data()[numbers_.numel() - 2];
    result.sums.weight = data()[numbers_.numel() - 1];
    return result;
  }

 private:
  static constexpr std::int64_t kColumns = kNumTargets;

  double* data() { return numbers_.data_ptr<double>(); }

  at::Tensor numbers_;
  std::unordered_map<std::size_t, std::size_t> row_;
};

}  // namespace

PassResult PredictSamples(const PassContext& context,
                          std::span<const std::size_t> indices) {
  const at::NoGradGuard no_gradients;
  context.network.eval();
  const at::Device device = context.network.parameters().front().device();
  BatchLoader loader(
      context.store, context.set, context.info,
      OwnBatches(PlanEvaluation(context.set, indices, context.batch_size),
                 context.communicator));
  PassArray array(indices);
  while (const std::optional<LoadedBatch> batch = loader.Next()) {
    const at::Tensor output =
        Activate(context.info,
                 context.network.forward(batch->graphs.To(device)))
            .cpu();
    array.AddLoss(
        HuberSum(output, batch->targets, batch->weights, context.huber_delta)
            .item<double>(),
        batch->weights.sum().item<double>());
    const std::vector<learned::TargetValues> rows =
        DecodeAll(context.info, output, batch->priors);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      array.Put(batch->samples[i], rows[i]);
    }
  }
  context.communicator.SumInPlace(array.numbers());
  return array.Read(context.set, indices);
}

void CheckFits(const learned::CheckpointInfo& info, const SampleSet& set) {
  const auto names = [](const learned::InputRecipe& recipe) {
    std::vector<std::string> texts;
    for (const learned::InputColumn& column : recipe.columns) {
      texts.push_back(ToString(column.key));
    }
    return texts;
  };
  const std::vector<std::string> wanted = names(info.recipe);
  const std::vector<std::string> found = names(set.recipe);
  if (wanted != found) {
    throw InvalidArgument(
        "the checkpoint expects the inputs {}; the samples have {}",
        Joined(wanted), Joined(found));
  }
  if (info.recipe.node_costs != set.recipe.node_costs) {
    throw InvalidArgument(
        "the checkpoint expects {}costs of nodes; the samples differ",
        info.recipe.node_costs ? "" : "no ");
  }
  if (info.recipe.prior != set.recipe.prior) {
    throw InvalidArgument(
        "the checkpoint corrects the prior '{}'; the samples have '{}'",
        info.recipe.prior, set.recipe.prior);
  }
}

void AddIntervals(const learned::LearnedModel& model,
                  std::vector<PredictedSample>& predictions) {
  for (PredictedSample& prediction : predictions) {
    for (const learned::Target target : learned::kAllTargets) {
      const double value = ValueOf(prediction.predicted, target);
      if (!learned::IsKnown(value)) continue;
      prediction.intervals[static_cast<std::size_t>(target)] =
          model.IntervalOf(target, value);
    }
  }
}

std::vector<PredictedSample> PriorAsPrediction(
    const SampleSet& set, std::span<const std::size_t> indices) {
  std::vector<PredictedSample> predictions;
  for (const std::size_t index : indices) {
    const Sample& sample = set.samples[index];
    predictions.push_back({index, sample.targets, sample.prior});
  }
  return predictions;
}

}  // namespace foretell::training
