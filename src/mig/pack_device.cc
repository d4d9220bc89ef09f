// Exact packing of a few jobs onto one device.
//
// Dynamic programming over the memory slots from left to right. The state is
// (slot, set of jobs placed, compute slices left, whether a "+me" instance
// exists); its value is the cheapest way to place the remaining jobs from that
// slot on. A choice is to start an instance for one of the jobs at the slot,
// or to leave the slot free. Jobs with equal profile sets are interchangeable,
// so of such a group only the first one not placed yet is tried, which keeps
// the number of states to the product of (group size + 1). A device holds as
// many jobs as it has compute slices, seven, so a greedy rule would save
// nothing and would miss layouts: 3g.20gb first-fitted to slot 0 forbids a
// later 4g.20gb, which may only start there.
#include "src/mig/pack_device.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace foretell::mig {
namespace {

struct Cost {
  int compute_slices = 0;
  int memory_slots = 0;
  auto operator<=>(const Cost&) const = default;
};

struct State {
  int slot = 0;
  std::uint32_t placed = 0;  ///< Bit i: job i.
  int slices_left = 0;
  bool has_media = false;

  std::uint64_t Key() const {
    return placed | static_cast<std::uint64_t>(slot) << 32 |
           static_cast<std::uint64_t>(slices_left) << 40 |
           static_cast<std::uint64_t>(has_media) << 48;
  }
};

/// The best continuation of a state. job = -1: the slot stays free.
struct Choice {
  bool feasible = false;
  Cost cost;
  int job = -1;
  int profile = -1;
};

class Search {
 public:
  Search(const DeviceSpec& device, std::span<const ProfileSet> jobs)
      : device_(device), jobs_(jobs) {}

  std::optional<DeviceAssignment> Run() {
    State state{0, 0, device_.compute_slices, false};
    const Choice best = Best(state);
    if (!best.feasible) return std::nullopt;
    DeviceAssignment assignment;
    assignment.compute_slices = best.cost.compute_slices;
    assignment.memory_slots = best.cost.memory_slots;
    assignment.instances.resize(jobs_.size());
    while (!AllPlaced(state)) {
      const Choice choice = Best(state);
      if (choice.job >= 0) {
        assignment.instances[static_cast<std::size_t>(choice.job)] = {
            choice.profile, state.slot};
      }
      state = After(state, choice);
    }
    return assignment;
  }

 private:
  bool AllPlaced(const State& state) const {
    return state.placed == (std::uint32_t{1} << jobs_.size()) - 1;
  }

  const MigProfile& ProfileAt(int index) const {
    return device_.mig_profiles[static_cast<std::size_t>(index)];
  }

  State After(const State& state, const Choice& choice) const {
    State next = state;
    if (choice.job < 0) {
      ++next.slot;
      return next;
    }
    const MigProfile& profile = ProfileAt(choice.profile);
    next.slot += profile.memory_slots;
    next.placed |= std::uint32_t{1} << choice.job;
    next.slices_left -= profile.compute_slices;
    next.has_media = next.has_media || profile.media_extensions;
    return next;
  }

  bool CanStart(const State& state, int index) const {
    const MigProfile& profile = ProfileAt(index);
    if (profile.compute_slices > state.slices_left) return false;
    if (profile.media_extensions && state.has_media) return false;
    for (const int start : profile.placements) {
      if (start == state.slot) return true;
    }
    return false;
  }

  /// Whether job `i` is the first of its group that is not placed.
  bool IsNextOfGroup(const State& state, std::size_t i) const {
    if ((state.placed >> i & 1) != 0) return false;
    return i == 0 || jobs_[i - 1] != jobs_[i] ||
           (state.placed >> (i - 1) & 1) != 0;
  }

  Choice Best(const State& state) {
    if (AllPlaced(state)) return {.feasible = true};
    if (state.slot >= device_.memory_slots) return {};
    const auto known = memo_.find(state.Key());
    if (known != memo_.end()) return known->second;
    Choice best;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (!IsNextOfGroup(state, i)) continue;
      for (const int index : jobs_[i]) {
        if (CanStart(state, index)) {
          Consider(state, static_cast<int>(i), index, &best);
        }
      }
    }
    Consider(state, -1, -1, &best);
    memo_[state.Key()] = best;
    return best;
  }

  /// Replaces `best` by the choice of `job` and `profile` if that is cheaper.
  void Consider(const State& state, int job, int profile, Choice* best) {
    Choice choice{.job = job, .profile = profile};
    const Choice rest = Best(After(state, choice));
    if (!rest.feasible) return;
    choice.feasible = true;
    choice.cost = rest.cost;
    if (job >= 0) {
      choice.cost.compute_slices += ProfileAt(profile).compute_slices;
      choice.cost.memory_slots += ProfileAt(profile).memory_slots;
    }
    if (!best->feasible || choice.cost < best->cost) *best = choice;
  }

  const DeviceSpec& device_;
  const std::span<const ProfileSet> jobs_;
  std::unordered_map<std::uint64_t, Choice> memo_;
};

}  // namespace

std::optional<DeviceAssignment> PackDevice(const DeviceSpec& device,
                                           std::span<const ProfileSet> jobs) {
  // Every instance uses at least one compute slice.
  if (jobs.size() > static_cast<std::size_t>(device.compute_slices)) {
    return std::nullopt;
  }
  return Search(device, jobs).Run();
}

}  // namespace foretell::mig
