#include "training/samples/batch_loader.h"

#include <ATen/ATen.h>

#include <memory>
#include <utility>

#include "src/network/make_input.h"

namespace foretell::training {
namespace {

using learned::CheckpointInfo;
using learned::TargetScale;

void FillTargets(const CheckpointInfo& info, const SampleSet& set,
                 LoadedBatch& batch) {
  const auto rows = static_cast<std::int64_t>(batch.samples.size());
  const auto columns = static_cast<std::int64_t>(info.targets.size());
  batch.targets = at::zeros({rows, columns});
  batch.weights = at::zeros({rows, columns});
  auto targets = batch.targets.accessor<float, 2>();
  auto weights = batch.weights.accessor<float, 2>();
  for (std::int64_t row = 0; row < rows; ++row) {
    const Sample& sample =
        set.samples[batch.samples[static_cast<std::size_t>(row)]];
    for (std::int64_t column = 0; column < columns; ++column) {
      const TargetScale& scale =
          info.targets[static_cast<std::size_t>(column)].scale;
      const double value = ValueOf(sample.targets, scale.target);
      if (!learned::IsKnown(value)) continue;
      targets[row][column] = static_cast<float>(learned::Encode(
          scale, value, info.recipe.FactorOf(sample.prior, scale.target)));
      weights[row][column] = sample.weight;
    }
  }
}

}  // namespace

LoadedBatch LoadBatch(FeatureStore& store, const SampleSet& set,
                      const CheckpointInfo& info,
                      std::vector<std::size_t> samples) {
  LoadedBatch batch{.samples = std::move(samples)};
  if (batch.samples.empty()) return batch;
  std::vector<std::shared_ptr<const learned::NetworkInput>> inputs;
  std::vector<std::vector<float>> columns;
  for (const std::size_t index : batch.samples) {
    const Sample& sample = set.samples[index];
    inputs.push_back(store.Get(set.InputOf(sample)));
    columns.push_back(ScaleColumns(sample.inputs, info.recipe));
    batch.priors.push_back(sample.prior);
  }
  std::vector<learned::InputRow> rows;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    rows.push_back({inputs[i].get(), columns[i]});
  }
  batch.graphs = CollateInputs(rows, info.recipe);
  FillTargets(info, set, batch);
  return batch;
}

BatchLoader::BatchLoader(FeatureStore& store, const SampleSet& set,
                         const CheckpointInfo& info, BatchPlan plan,
                         std::size_t first)
    : store_(store),
      set_(set),
      info_(info),
      plan_(std::move(plan)),
      next_(first),
      thread_(&BatchLoader::Work, this) {}

BatchLoader::~BatchLoader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::optional<LoadedBatch> BatchLoader::Next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || finished_; });
  if (ready_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
  }
  LoadedBatch batch = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return batch;
}

void BatchLoader::Work() {
  try {
    for (; next_ < plan_.size(); ++next_) {
      LoadedBatch batch = LoadBatch(store_, set_, info_, plan_[next_]);
      std::unique_lock lock(mutex_);
      changed_.wait(lock,
                    [this] { return stop_ || ready_.size() < kBatchesAhead; });
      if (stop_) break;
      ready_.push_back(std::move(batch));
      lock.unlock();
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

}  // namespace foretell::training
