#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "training/samples/samples.h"

namespace foretell::training {

/// Indices of samples that are computed together.
using BatchPlan = std::vector<std::vector<std::size_t>>;

/// A 64-bit hash of two numbers (SplitMix64's finaliser); the same on every
/// machine.
std::uint64_t MixSeed(std::uint64_t a, std::uint64_t b);

/// Batches of `batch_size` for one pass over `indices`, the last one of each
/// bucket smaller; a function of its arguments alone.
///
/// Samples are shuffled, cut into buckets of kBatchesPerBucket batches, each
/// bucket is sorted by number of nodes and cut into batches, and the batches
/// are shuffled: graphs of a batch are of similar size, and yet every pass
/// mixes them again.
BatchPlan PlanEpoch(const SampleSet& set, std::span<const std::size_t> indices,
                    std::int64_t batch_size, std::uint64_t seed);

inline constexpr std::int64_t kBatchesPerBucket = 16;

/// Batches for a pass without learning: by size, each of at most `batch_size`
/// graphs and kMaxNodesInEvaluation nodes (or one graph).
BatchPlan PlanEvaluation(const SampleSet& set,
                         std::span<const std::size_t> indices,
                         std::int64_t batch_size);

inline constexpr std::int64_t kMaxNodesInEvaluation = 1 << 15;

/// One worker's share of each batch, of `size` workers: every size-th sample,
/// starting at `rank`. Together the workers have every sample once; a worker's
/// share of a batch may be empty.
BatchPlan ShareOf(const BatchPlan& plan, int rank, int size);

}  // namespace foretell::training
