#include "src/snapshot/match_blocks.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>

#include "src/core/checked.h"

namespace foretell::snapshot {
namespace {

/// Where tensors of a role are allocated.
enum class Maker : std::uint8_t { kSetup, kForward, kBackward, kOptimizer };
constexpr std::size_t kNumMakers = 4;

Maker MakerOf(TensorRole role) {
  switch (role) {
    case TensorRole::kParameter:
    case TensorRole::kBuffer:
      return Maker::kSetup;
    case TensorRole::kInput:
    case TensorRole::kActivation:
    case TensorRole::kSaved:
      return Maker::kForward;
    case TensorRole::kGradient:
    case TensorRole::kBackwardTemporary:
      return Maker::kBackward;
    case TensorRole::kOptimizerState:
    case TensorRole::kOptimizerTemporary:
      return Maker::kOptimizer;
  }
  return Maker::kSetup;
}

/// Outside of modules inputs and losses are made, too.
bool CanBe(Origin origin, std::size_t maker) {
  switch (origin) {
    case Origin::kForward:
      return maker == static_cast<std::size_t>(Maker::kForward);
    case Origin::kBackward:
      return maker == static_cast<std::size_t>(Maker::kBackward);
    case Origin::kOptimizer:
      return maker == static_cast<std::size_t>(Maker::kOptimizer);
    case Origin::kElsewhere:
      return maker <= static_cast<std::size_t>(Maker::kForward);
    case Origin::kUnknown:
      return true;
  }
  return false;
}

/// Tensors of one size that have no counterpart yet, by their makers.
using Candidates = std::array<std::deque<std::size_t>, kNumMakers>;

/// Takes the first born of those that a block of `origin` can be.
std::optional<std::size_t> TakeFirst(Candidates& candidates, Origin origin) {
  std::deque<std::size_t>* first = nullptr;
  for (std::size_t maker = 0; maker < kNumMakers; ++maker) {
    std::deque<std::size_t>& queue = candidates[maker];
    if (queue.empty() || !CanBe(origin, maker)) continue;
    if (first == nullptr || queue.front() < first->front()) first = &queue;
  }
  if (first == nullptr) return std::nullopt;
  const std::size_t tensor = first->front();
  first->pop_front();
  return tensor;
}

}  // namespace

std::vector<std::optional<std::size_t>> MatchBlocks(
    const std::vector<RecordedBlock>& live,
    const std::vector<PredictedTensor>& tensors, const StackWords& words) {
  std::map<std::int64_t, Candidates> by_size;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto maker = static_cast<std::size_t>(MakerOf(tensors[i].role));
    by_size[RoundUp(tensors[i].bytes, kAllocationUnit)][maker].push_back(i);
  }
  std::vector<std::optional<std::size_t>> matches(live.size());
  for (std::size_t i = 0; i < live.size(); ++i) {
    const auto found = by_size.find(live[i].bytes);
    if (found == by_size.end() || words.IsWorkspace(live[i].stack)) continue;
    matches[i] = TakeFirst(found->second, words.OriginOf(live[i].stack));
  }
  return matches;
}

}  // namespace foretell::snapshot
