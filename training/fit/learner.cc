#include "training/fit/learner.h"

#include <ATen/ATen.h>

#include <cmath>

#include "src/answer/learned_model.h"
#include "src/core/failure.h"
#include "training/fit/compute_device.h"
#include "training/fit/huber.h"

namespace foretell::training {
namespace {

std::shared_ptr<learned::Network> NewNetwork(
    const TrainerOptions& options, const learned::CheckpointInfo& info,
    const at::Device& device) {
  at::manual_seed(MixSeed(options.seed, 0));
  std::shared_ptr<learned::Network> network =
      learned::MakeNetwork(info.network);
  network->to(device);
  return network;
}

}  // namespace

Learner::Learner(const TrainerOptions& options,
                 const learned::CheckpointInfo& info, const SampleSet& set,
                 Communicator& communicator)
    : options_(options),
      info_(info),
      set_(set),
      communicator_(communicator),
      device_(ComputeDevice(options.compute)),
      network_(NewNetwork(options, info, device_)),
      parameters_(*network_),
      adam_(parameters_.values()) {}

Learner::StepResult Learner::Step(const LoadedBatch& batch,
                                  const StepOptions& step) {
  at::manual_seed(step.seed);
  network_->train();
  parameters_.ClearGradients();
  StepResult result;
  if (!batch.samples.empty()) result.own = Backward(batch);
  at::Tensor& sums = parameters_.gradients_and_extra();
  at::Tensor extra = sums.narrow(0, sums.numel() - FlatParameters::kExtra,
                                 FlatParameters::kExtra);
  extra.copy_(
      at::tensor({result.own.weight, result.own.loss, step.stop ? 1.0 : 0.0}));
  communicator_.SumInPlace(sums);
  const at::Tensor summed = extra.to(at::kCPU, at::kDouble);
  const double weight = summed[0].item<double>();
  result.stop = summed[2].item<double>() > 0;
  if (weight <= 0) return result;
  result.loss = summed[1].item<double>() / weight;
  Update(weight, step.rate, result);
  return result;
}

PassSums Learner::Backward(const LoadedBatch& batch) {
  learned::TrainingOutput output;
  {
    const MixedPrecision mixed(options_.mixed_precision);
    output = network_->TrainingForward(batch.graphs.To(device_));
  }
  const at::Tensor targets = batch.targets.to(device_);
  const at::Tensor weights = batch.weights.to(device_);
  const auto loss_of = [&](const at::Tensor& raw) {
    return HuberSum(Activate(info_, raw.to(at::kFloat)), targets, weights,
                    options_.huber_delta);
  };
  at::Tensor loss = loss_of(output.supervised.front());
  for (const at::Tensor& more : at::TensorList(output.supervised).slice(1)) {
    loss = loss + loss_of(more);
  }
  loss.backward();
  const at::NoGradGuard no_gradients;
  PassSums sums{.loss = loss_of(output.prediction).item<double>(),
                .weight = batch.weights.sum().item<double>()};
  const std::vector<learned::TargetValues> rows = DecodeAll(
      info_, Activate(info_, output.prediction.to(at::kFloat)), batch.priors);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t sample = batch.samples[i];
    sums.Add({sample, set_.samples[sample].targets, rows[i]});
  }
  return sums;
}

void Learner::Update(double weight, double rate, StepResult& result) {
  at::Tensor gradients = parameters_.gradients();
  gradients.div_(weight);
  result.norm = gradients.norm().item<double>();
  if (!std::isfinite(result.norm)) {
    throw InvalidArgument(
        "the gradient is not finite at the learning rate {}; a lower one or "
        "clipping may help",
        rate);
  }
  if (options_.clip > 0 && result.norm > options_.clip) {
    gradients.mul_(options_.clip / result.norm);
  }
  adam_.Step(
      parameters_.values(), gradients, rate,
      {.factor = options_.weight_decay, .decoupled = options_.decoupled_decay});
}

}  // namespace foretell::training
