#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "src/network/checkpoint.h"
#include "src/network/graph_batch.h"
#include "training/samples/batch_plan.h"
#include "training/samples/feature_store.h"
#include "training/samples/samples.h"

namespace foretell::training {

/// A batch on the CPU, ready for the network. B graphs, T targets.
struct LoadedBatch {
  std::vector<std::size_t> samples;  ///< B indices; empty: no tensors either.
  learned::GraphBatch graphs;
  at::Tensor targets;  ///< float32 [B, T], scaled; 0 where unknown.
  at::Tensor weights;  ///< float32 [B, T]; 0 where unknown.
  std::vector<learned::TargetValues> priors;
};

/// Reads, scales and lays out the samples of one batch.
LoadedBatch LoadBatch(FeatureStore& store, const SampleSet& set,
                      const learned::CheckpointInfo& info,
                      std::vector<std::size_t> samples);

/// Prepares the batches of a plan in order, in a separate thread, at most
/// kBatchesAhead of them in advance. All arguments must outlive it.
class BatchLoader {
 public:
  BatchLoader(FeatureStore& store, const SampleSet& set,
              const learned::CheckpointInfo& info, BatchPlan plan,
              std::size_t first = 0);
  /// Waits until the current batch is done.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  /// The next batch; empty at the end. Throws what reading threw.
  std::optional<LoadedBatch> Next();

 private:
  static constexpr std::size_t kBatchesAhead = 4;

  void Work();

  FeatureStore& store_;
  const SampleSet& set_;
  const learned::CheckpointInfo& info_;
  const BatchPlan plan_;
  std::size_t next_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<LoadedBatch> ready_;
  std::exception_ptr failure_;
  bool finished_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace foretell::training
