#include "training/fit/trainer.h"

#include <fmt/core.h>

#include <ATen/ATen.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/core/failure.h"
#include "src/network/weights.h"
#include "training/fit/fit_info.h"
#include "training/fit/predict_samples.h"
#include "training/fit/residuals.h"

namespace foretell::training {
namespace {

using Clock = std::chrono::steady_clock;

/// Keep random numbers for different uses apart.
constexpr std::uint64_t kOrderStream = 1;
constexpr std::uint64_t kDropoutStream = 2;

/// The state of a run, as a checkpoint has it.
JsonObject StateOf(const nlohmann::json& state, const std::string& origin) {
  return JsonObject(state, origin, "training", UnknownFields::kIgnored);
}

}  // namespace

Trainer::Trainer(const TrainerOptions& options, learned::CheckpointInfo info,
                 const TrainingData& data, Communicator& communicator)
    : options_((options.Check(), options)),
      info_(std::move(info)),
      data_(data),
      communicator_(communicator),
      learner_(options_, info_, data.set, communicator),
      best_info_(info_) {}

Trainer::Trainer(const TrainerOptions& options, const SavedRun& saved,
                 const TrainingData& data, Communicator& communicator)
    : Trainer(options, saved.last.info, data, communicator) {
  LoadWeights(saved.last.weights, saved.origin, learner_.network());
  learner_.adam().Restore(saved.last.optimizer, saved.origin);
  RestorePosition(saved.last.training, saved.origin);
  best_info_ = saved.best.info;
  best_weights_ = saved.best.weights;
}

RunEnd Trainer::Run(const TrainerHooks& hooks) {
  if (position_.epoch == 0 && position_.batch == 0) {
    FitInputScale(learner_.network(), info_, data_);
  }
  while (position_.epoch < options_.epochs) {
    if (options_.patience > 0 && !data_.validation.empty() &&
        position_.epoch - position_.best_epoch >= options_.patience) {
      return RunEnd::kStoppedEarly;
    }
    if (!TrainEpoch(hooks)) return RunEnd::kInterrupted;
    FinishEpoch(hooks);
    if (stop_) return RunEnd::kInterrupted;
  }
  return RunEnd::kFinished;
}

bool Trainer::TrainEpoch(const TrainerHooks& hooks) {
  const BatchPlan plan =
      ShareOf(PlanEpoch(data_.set, data_.train, options_.batch_size,
                        MixSeed(MixSeed(options_.seed, kOrderStream),
                                static_cast<std::uint64_t>(position_.epoch))),
              communicator_.rank(), communicator_.size());
  const Clock::time_point start = Clock::now();
  BatchLoader loader(data_.store, data_.set, info_, plan,
                     static_cast<std::size_t>(position_.batch));
  while (const std::optional<LoadedBatch> batch = loader.Next()) {
    stop_ = stop_ || (hooks.interrupted && hooks.interrupted());
    Step(*batch, static_cast<double>(position_.batch) /
                     static_cast<double>(plan.size()));
    ++position_.batch;
    epoch_graphs_ += static_cast<double>(batch->samples.size());
    if (hooks.on_batch) {
      hooks.on_batch({position_.epoch + 1, options_.epochs, position_.batch,
                      std::ssize(plan), position_.sums});
    }
    // An epoch whose batches are all done is finished first.
    if (stop_ && position_.batch < std::ssize(plan)) {
      SumOverWorkers();
      return false;
    }
  }
  epoch_seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
  return true;
}

void Trainer::SumOverWorkers() {
  const std::array<double, PassSums::kNumbers> own = position_.sums.ToArray();
  at::Tensor numbers = at::empty({PassSums::kNumbers}, at::kDouble);
  std::ranges::copy(own, numbers.data_ptr<double>());
  communicator_.SumInPlace(numbers);
  position_.sums = PassSums::FromArray(
      std::span(numbers.data_ptr<double>(), PassSums::kNumbers));
}

void Trainer::Step(const LoadedBatch& batch, double progress) {
  const std::uint64_t place =
      MixSeed(static_cast<std::uint64_t>(position_.epoch),
              static_cast<std::uint64_t>(position_.batch));
  const std::uint64_t stream =
      MixSeed(kDropoutStream, static_cast<std::uint64_t>(communicator_.rank()));
  const Learner::StepResult result = learner_.Step(
      batch, {.rate = RateAt(progress),
              .seed = MixSeed(MixSeed(options_.seed, stream), place),
              .stop = stop_});
  position_.sums.Add(result.own);
  position_.norm_sum += result.norm;
  // A worker that has to stop stops all of them, at the same batch.
  stop_ = result.stop;
}

double Trainer::RateAt(double progress) const {
  return options_.learning_rate *
         ScheduleFactor(
             options_.schedule, static_cast<double>(position_.epoch) + progress,
             static_cast<double>(options_.epochs), options_.warmup_epochs);
}

void Trainer::FinishEpoch(const TrainerHooks& hooks) {
  EpochMetrics metrics{.epoch = position_.epoch + 1,
                       .learning_rate = RateAt(0.5),
                       .gradient_norm = position_.norm_sum /
                                        static_cast<double>(position_.batch)};
  SumOverWorkers();
  metrics.train = position_.sums;
  metrics.seconds = epoch_seconds_;
  metrics.graphs_per_second =
      epoch_seconds_ > 0 ? epoch_graphs_ * communicator_.size() / epoch_seconds_
                         : 0;
  ++position_.epoch;
  info_.epochs = position_.epoch;
  position_.batch = 0;
  position_.sums = {};
  position_.norm_sum = 0;
  epoch_seconds_ = 0;
  epoch_graphs_ = 0;
  Validate(metrics);
  if (hooks.on_epoch) hooks.on_epoch(metrics);
}

void Trainer::Validate(EpochMetrics& metrics) {
  if (data_.validation.empty()) {
    metrics.is_best = true;
    KeepBest();
    return;
  }
  const PassResult pass = PredictSamples({.store = data_.store,
                                          .set = data_.set,
                                          .info = info_,
                                          .network = learner_.network(),
                                          .communicator = communicator_,
                                          .huber_delta = options_.huber_delta},
                                         data_.validation);
  metrics.validation = pass.sums;
  metrics.is_best =
      position_.best_epoch == 0 || pass.sums.Loss() < position_.best_loss;
  if (!metrics.is_best) return;
  position_.best_loss = pass.sums.Loss();
  position_.best_epoch = position_.epoch;
  KeepBest();
  for (learned::CheckpointTarget& target : best_info_.targets) {
    const double mape = pass.sums.Mape(target.scale.target);
    if (learned::IsKnown(mape)) target.validation_mape = mape;
    target.interval =
        ConformalInterval(LogResiduals(pass.predictions, target.scale.target));
  }
}

void Trainer::KeepBest() {
  best_info_ = info_;
  best_weights_ = learned::WeightsOf(learner_.network());
}

learned::Checkpoint Trainer::Last() const {
  return {.info = info_,
          .weights = learned::WeightsOf(learner_.network()),
          .optimizer = learner_.adam().State(),
          .training = PositionToJson()};
}

learned::Checkpoint Trainer::Best() const {
  if (!best_weights_.empty()) {
    return {.info = best_info_, .weights = best_weights_};
  }
  return {.info = info_, .weights = learned::WeightsOf(learner_.network())};
}

learned::LearnedModel Trainer::BestModel() const { return ModelOf(Best()); }

learned::LearnedModel Trainer::LastModel() const { return ModelOf(Last()); }

learned::LearnedModel Trainer::ModelOf(
    const learned::Checkpoint& checkpoint) const {
  learned::LearnedModel learned(checkpoint, "the trained network");
  learned.network().to(learner_.device());
  return learned;
}

void Trainer::DescribePosition(JsonFields& fields, Position& position) {
  const auto numbers = position.sums.ToArray();
  std::vector<double> sums(numbers.begin(), numbers.end());
  fields.Value("epoch", position.epoch);
  fields.Value("batch", position.batch);
  fields.Value("sums", sums);
  fields.Require(sums.size() == PassSums::kNumbers, "sums",
                 fmt::format("has {} numbers, expected {}", sums.size(),
                             PassSums::kNumbers));
  position.sums = PassSums::FromArray(sums);
  fields.Value("norm_sum", position.norm_sum);
  fields.Value("best_loss", position.best_loss);
  fields.Value("best_epoch", position.best_epoch);
}

std::string Trainer::PositionToJson() const {
  nlohmann::json state = WriteFields(position_, &DescribePosition);
  state["options"] = TrainerOptionsToJson(options_);
  return state.dump();
}

void Trainer::RestorePosition(const std::string& json,
                              const std::string& origin) {
  const nlohmann::json state = ParseJson(json, origin);
  position_ = ReadFields<Position>(StateOf(state, origin), &DescribePosition);
  // Sums over all workers: the first one continues them.
  if (!communicator_.IsFirst()) position_.sums = {};
}

TrainerOptions OptionsOf(const learned::Checkpoint& last,
                         const std::string& origin) {
  if (last.training.empty()) {
    throw Corrupt("{}: has weights for prediction but no training state",
                  origin);
  }
  const nlohmann::json state = ParseJson(last.training, origin);
  return TrainerOptionsFromJson(StateOf(state, origin).Object("options"));
}

}  // namespace foretell::training
