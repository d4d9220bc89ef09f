#include "src/memory/warm_up.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

namespace foretell::memory {
namespace {

using Kind = AllocationEvent::Kind;

/// What a step leaves to the next one is freed in two goes.
enum class Leaving { kGradient, kResult };

class WarmUp {
 public:
  WarmUp(const OperatorGraph& graph,
         const std::vector<ScheduledEvent>& schedule)
      : graph_(graph) {
    const auto begin = std::ranges::find_if(
        schedule,
        [](const ScheduledEvent& event) { return event.node != kNone; });
    start_ = {schedule.begin(), begin};
    step_ = {begin, schedule.end()};
    lasting_ = LastingWorkspaces(step_);
    FindForeign();
  }

  std::vector<ScheduledEvent> Make() {
    AddStanding();
    AddFirstStep();
    AddStep();
    return std::move(result_);
  }

 private:
  TensorRole RoleOf(const ScheduledEvent& event) const {
    return graph_.storage(event.storage).role;
  }

  Leaving LeavingOf(const ScheduledEvent& event) const {
    return RoleOf(event) == TensorRole::kGradient ? Leaving::kGradient
                                                  : Leaving::kResult;
  }

  /// What the step frees without having made it, except for sources.
  void FindForeign() {
    std::set<std::int64_t> born;
    for (const ScheduledEvent& event : step_) {
      const std::int64_t id = event.allocation.id;
      if (event.IsBirth()) {
        born.insert(id);
      } else if (!born.contains(id) && !IsSource(RoleOf(event))) {
        foreign_.insert(id);
      }
    }
  }

  /// Sources and what else outlives the steps; states of the optimizer wait.
  /// A single pass of inference has no other: all that comes before it is its
  /// own.
  void AddStanding() {
    if (graph_.info().mode != Mode::kTraining && foreign_.empty()) {
      result_ = start_;
      return;
    }
    std::set<std::int64_t> gone = foreign_;
    for (const ScheduledEvent& event : start_) {
      if (!event.IsBirth()) gone.insert(event.allocation.id);
    }
    for (const ScheduledEvent& event : start_) {
      if (!event.IsBirth()) continue;
      const bool stays =
          IsSource(RoleOf(event)) || !gone.contains(event.allocation.id);
      if (!stays) continue;
      const bool waits = RoleOf(event) == TensorRole::kOptimizerState;
      (waits ? states_ : result_).push_back(event);
    }
  }

  void AddStates(NodeId node) {
    for (ScheduledEvent state : states_) {
      state.node = node;
      state.warms_up = node != kNone;
      result_.push_back(state);
    }
    states_.clear();
  }

  void AddFirstStep() {
    std::map<std::int64_t, ScheduledEvent> live;
    for (ScheduledEvent event : step_) {
      if (graph_.node(event.node).phase == Phase::kOptimizer) {
        AddStates(event.node);
      }
      event.warms_up = true;
      const std::int64_t id = event.allocation.id;
      if (!lasting_.contains(id)) event.allocation.id = -1 - id;
      if (event.IsBirth()) {
        result_.push_back(event);
        if (!lasting_.contains(id)) live[id] = event;
      } else if (live.erase(id) > 0) {
        result_.push_back(event);
      }
    }
    AddStates(kNone);
    for (const auto& [id, event] : live) {
      if (event.storage != kNone) left_[LeavingOf(event)].push_back(event);
    }
  }

  /// Frees what the first step left behind, once.
  void Free(Leaving leaving, const ScheduledEvent* cause) {
    for (ScheduledEvent event : left_[leaving]) {
      event.allocation.kind = Kind::kFree;
      event.warms_up = cause == nullptr;
      if (cause != nullptr) event.node = cause->node;
      result_.push_back(event);
    }
    left_[leaving].clear();
  }

  void AddStep() {
    std::set<Leaving> frees;
    for (const ScheduledEvent& event : step_) {
      if (IsForeignFree(event)) frees.insert(LeavingOf(event));
    }
    for (const Leaving leaving : {Leaving::kGradient, Leaving::kResult}) {
      if (!frees.contains(leaving)) Free(leaving, nullptr);
    }
    for (const ScheduledEvent& event : step_) {
      if (IsForeignFree(event)) {
        Free(LeavingOf(event), &event);
      } else if (!lasting_.contains(event.allocation.id)) {
        result_.push_back(event);
      }
    }
  }

  bool IsForeignFree(const ScheduledEvent& event) const {
    return !event.IsBirth() && foreign_.contains(event.allocation.id);
  }

  const OperatorGraph& graph_;
  std::vector<ScheduledEvent> start_;  ///< Before the first operator.
  std::vector<ScheduledEvent> step_;
  std::set<std::int64_t> foreign_;
  std::set<std::int64_t> lasting_;  ///< Workspaces.
  std::vector<ScheduledEvent> states_;
  std::map<Leaving, std::vector<ScheduledEvent>> left_;
  std::vector<ScheduledEvent> result_;
};

}  // namespace

std::vector<ScheduledEvent> WithWarmUp(
    const OperatorGraph& graph, const std::vector<ScheduledEvent>& schedule) {
  return WarmUp(graph, schedule).Make();
}

}  // namespace foretell::memory
