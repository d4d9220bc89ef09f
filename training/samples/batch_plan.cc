#include "training/samples/batch_plan.h"

#include <algorithm>
#include <utility>

namespace foretell::training {
namespace {

/// Fisher–Yates with numbers of our own: std::shuffle differs between
/// standard libraries. The modulo's bias is below 2^-40 here.
template <typename Value>
void Shuffle(std::vector<Value>& values, std::uint64_t seed) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[MixSeed(seed, i) % i]);
  }
}

void SortBySize(const SampleSet& set, std::span<std::size_t> indices) {
  std::ranges::stable_sort(indices, {}, [&set](std::size_t index) {
    return set.samples[index].num_nodes;
  });
}

}  // namespace

std::uint64_t MixSeed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0xd1342543de82ef95 + (b + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

BatchPlan PlanEpoch(const SampleSet& set, std::span<const std::size_t> indices,
                    std::int64_t batch_size, std::uint64_t seed) {
  std::vector<std::size_t> order(indices.begin(), indices.end());
  Shuffle(order, seed);
  const auto size = static_cast<std::size_t>(batch_size);
  const std::size_t bucket = size * kBatchesPerBucket;
  BatchPlan plan;
  for (std::size_t begin = 0; begin < order.size(); begin += bucket) {
    const std::size_t end = std::min(begin + bucket, order.size());
    SortBySize(set, std::span(order).subspan(begin, end - begin));
    for (std::size_t i = begin; i < end; i += size) {
      plan.emplace_back(order.data() + i,
                        order.data() + std::min(i + size, end));
    }
  }
  Shuffle(plan, ~seed);
  return plan;
}

BatchPlan PlanEvaluation(const SampleSet& set,
                         std::span<const std::size_t> indices,
                         std::int64_t batch_size) {
  std::vector<std::size_t> order(indices.begin(), indices.end());
  SortBySize(set, order);
  BatchPlan plan;
  std::int64_t nodes = 0;
  for (const std::size_t index : order) {
    const std::int64_t more = set.samples[index].num_nodes;
    if (plan.empty() || std::ssize(plan.back()) == batch_size ||
        nodes + more > kMaxNodesInEvaluation) {
      plan.emplace_back();
      nodes = 0;
    }
    plan.back().push_back(index);
    nodes += more;
  }
  return plan;
}

BatchPlan ShareOf(const BatchPlan& plan, int rank, int size) {
  BatchPlan share;
  for (const std::vector<std::size_t>& batch : plan) {
    share.emplace_back();
    for (std::size_t i = static_cast<std::size_t>(rank); i < batch.size();
         i += static_cast<std::size_t>(size)) {
      share.back().push_back(batch[i]);
    }
  }
  return share;
}

}  // namespace foretell::training
