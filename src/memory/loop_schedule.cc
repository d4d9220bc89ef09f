#include "src/memory/loop_schedule.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "src/memory/awaited_frees.h"
#include "src/memory/planned_schedule.h"

namespace foretell::memory {
namespace {

using Kind = AllocationEvent::Kind;

/// What a pass leaves to the next one is freed in two goes.
enum class Leaving { kGradient, kResult };

/// Ids of its graph, apart for every network's standing memory and for every
/// pass; those of earlier_pass.cc lie between.
std::int64_t StandingId(std::int64_t id, int network) {
  return id + (std::int64_t{network} << 32);
}
std::int64_t PassId(std::int64_t id, std::size_t pass) {
  return id + (static_cast<std::int64_t>(pass + 1) << 41);
}

TensorRole RoleOf(const ScheduledEvent& event) {
  return event.graph->storage(event.storage).role;
}

bool IsInput(const ScheduledEvent& event) {
  return event.IsBirth() && RoleOf(event) == TensorRole::kInput;
}

Leaving LeavingOf(const ScheduledEvent& event) {
  return RoleOf(event) == TensorRole::kGradient ? Leaving::kGradient
                                                : Leaving::kResult;
}

/// The events of a graph's step.
struct Step {
  std::vector<ScheduledEvent> start;  ///< Before the first operator.
  std::vector<ScheduledEvent> events;
  std::set<std::int64_t> lasting = {};  ///< Workspaces.
  /// What the step frees without having made it, except for sources.
  std::set<std::int64_t> foreign = {};
  std::set<Leaving> frees = {};  ///< Of them.
};

Step StepOf(const OperatorGraph& graph, const MemoryOptions& options) {
  const std::vector<ScheduledEvent> all = MakeStepSchedule(graph, options);
  const auto begin = std::ranges::find_if(
      all, [](const ScheduledEvent& event) { return event.node != kNone; });
  Step step{.start = {all.begin(), begin}, .events = {begin, all.end()}};
  step.lasting = LastingWorkspaces(step.events);
  std::set<std::int64_t> born;
  for (const ScheduledEvent& event : step.events) {
    const std::int64_t id = event.allocation.id;
    if (event.IsBirth()) {
      born.insert(id);
    } else if (!born.contains(id) && !IsSource(RoleOf(event))) {
      step.foreign.insert(id);
      step.frees.insert(LeavingOf(event));
    }
  }
  return step;
}

std::int64_t StandingBytes(const OperatorGraph& graph) {
  std::int64_t bytes = 0;
  for (const Storage& storage : graph.storages()) {
    const bool stands = storage.role == TensorRole::kParameter ||
                        storage.role == TensorRole::kBuffer ||
                        storage.role == TensorRole::kOptimizerState;
    if (stands) bytes += storage.bytes;
  }
  return bytes;
}

bool Trains(const OperatorGraph& graph) {
  return graph.info().mode == Mode::kTraining;
}

/// What a network has from pass to pass.
struct Network {
  const OperatorGraph* largest = nullptr;  ///< By StandingBytes.
  const OperatorGraph* last = nullptr;     ///< Of the last pass; its inputs.
  bool trains = false;
  std::vector<ScheduledEvent> states = {};  ///< That wait for the optimizer.
  std::vector<ScheduledEvent> inputs = {};
  std::map<Leaving, std::vector<ScheduledEvent>> left = {};
};

class LoopMaker {
 public:
  LoopMaker(const PassSequence& passes, const MemoryOptions& options)
      : passes_(passes) {
    for (const auto& [graph, number] : passes.list) {
      if (!steps_.contains(graph)) {
        steps_.emplace(graph, StepOf(*graph, options));
      }
      AddTo(networks_[number], *graph);
    }
  }

  std::vector<ScheduledEvent> Make() {
    for (auto& [number, network] : networks_) AddStanding(number, network);
    for (; pass_ < NumPasses(passes_); ++pass_) {
      const auto [graph, number] = passes_.list[pass_ % passes_.list.size()];
      Network& network = networks_.at(number);
      if (network.trains && !Trains(*graph)) {
        Evaluate(*graph);
      } else {
        AddPass(*graph, network);
      }
    }
    return std::move(result_);
  }

 private:
  /// Evaluations have neither the first inputs nor the states.
  static void AddTo(Network& network, const OperatorGraph& graph) {
    const bool is_first = network.last == nullptr;
    const bool is_first_trained = Trains(graph) && !network.trains;
    const bool is_evaluation = network.trains && !Trains(graph);
    if (is_first || is_first_trained) network.last = &graph;
    if (is_first || is_first_trained ||
        (!is_evaluation &&
         StandingBytes(graph) > StandingBytes(*network.largest))) {
      network.largest = &graph;
    }
    network.trains |= Trains(graph);
  }

  /// A replay of CUDA graphs asks for no memory.
  void Add(ScheduledEvent event, std::int64_t id) {
    event.allocation.id = id;
    if (is_replay_ && event.allocation.stream == Stream::kRecord) {
      event.allocation.bytes = 0;
    }
    event.pass = pass_;
    result_.push_back(event);
  }

  void Free(ScheduledEvent event, std::size_t pass, NodeId node) {
    event.allocation.kind = Kind::kFree;
    event.pass = pass;
    event.node = node;
    result_.push_back(event);
  }

  void FreeAll(std::vector<ScheduledEvent>& events, std::size_t pass,
               NodeId node) {
    for (const ScheduledEvent& event : events) Free(event, pass, node);
    events.clear();
  }

  /// Sources and what else outlives the steps; states of the optimizer wait. A
  /// single pass of inference has no other: all that comes before it is its
  /// own.
  void AddStanding(int number, Network& network) {
    const Step& step = steps_.at(network.largest);
    const bool is_own = !Trains(*network.largest) && step.foreign.empty();
    std::set<std::int64_t> gone = step.foreign;
    for (const ScheduledEvent& event : step.start) {
      if (!event.IsBirth()) gone.insert(event.allocation.id);
    }
    for (ScheduledEvent event : step.start) {
      const TensorRole role = RoleOf(event);
      const bool stays =
          event.IsBirth() &&
          (IsSource(role) || !gone.contains(event.allocation.id));
      if (!stays && !is_own) continue;
      if (IsInput(event) && network.last != network.largest) continue;
      event.allocation.id = StandingId(event.allocation.id, number);
      if (IsInput(event)) network.inputs.push_back(event);
      const bool waits = !is_own && role == TensorRole::kOptimizerState;
      (waits ? network.states : result_).push_back(event);
    }
    if (network.last != network.largest) AddInputs(*network.last, network);
  }

  void AddInputs(const OperatorGraph& graph, Network& network) {
    for (const ScheduledEvent& event : steps_.at(&graph).start) {
      if (!IsInput(event)) continue;
      Add(event, PassId(event.allocation.id, pass_));
      network.inputs.push_back(result_.back());
    }
    network.last = &graph;
  }

  void AddStates(Network& network, std::size_t pass, NodeId node) {
    for (ScheduledEvent state : network.states) {
      state.pass = pass;
      state.node = node;
      result_.push_back(state);
    }
    network.states.clear();
  }

  /// What it uses exists during the pass alone, apart from the weights.
  void Evaluate(const OperatorGraph& graph) {
    Network own;
    AddInputs(graph, own);
    AddPass(graph, own);
    for (auto& [leaving, events] : own.left) FreeAll(events, pass_, kNone);
    FreeAll(own.inputs, pass_, kNone);
  }

  void AddPass(const OperatorGraph& graph, Network& network) {
    const Step& step = steps_.at(&graph);
    is_replay_ =
        graph.info().runtime.cuda_graphs && !recorded_.insert(&graph).second;
    for (const Leaving leaving : {Leaving::kGradient, Leaving::kResult}) {
      if (step.frees.contains(leaving)) continue;
      FreeAll(network.left[leaving], pass_ - 1, kNone);
    }
    if (network.last != &graph) {
      FreeAll(network.inputs, pass_, kNone);
      AddInputs(graph, network);
    }
    std::map<std::int64_t, ScheduledEvent> live;
    for (const ScheduledEvent& event : step.events) {
      if (graph.node(event.node).phase == Phase::kOptimizer) {
        AddStates(network, pass_, event.node);
      }
      AddEvent(event, step, network, live);
    }
    AddStates(network, pass_ + 1, kNone);
    for (const auto& [id, event] : live) {
      if (event.storage != kNone) {
        network.left[LeavingOf(event)].push_back(event);
      }
    }
  }

  void AddEvent(const ScheduledEvent& event, const Step& step, Network& network,
                std::map<std::int64_t, ScheduledEvent>& live) {
    const std::int64_t id = event.allocation.id;
    if (step.lasting.contains(id)) {
      if (IsFirstOfThread(event)) Add(event, PassId(id, pass_));
    } else if (event.IsBirth()) {
      Add(event, PassId(id, pass_));
      live[id] = result_.back();
    } else if (live.erase(id) > 0) {
      Add(event, PassId(id, pass_));
    } else if (step.foreign.contains(id)) {
      FreeAll(network.left[LeavingOf(event)], pass_, event.node);
    } else if (pass_ > 0 && passes_.list.size() == 1) {
      Add(event, id);  // A source, which only the last pass can free.
    }
  }

  /// Autograd's thread has a cuBLAS handle of its own, hence a workspace.
  bool IsFirstOfThread(const ScheduledEvent& event) {
    const Phase phase = event.graph->node(event.node).phase;
    return threads_.insert(phase == Phase::kBackward).second;
  }

  const PassSequence& passes_;
  std::map<const OperatorGraph*, Step> steps_;
  std::map<int, Network> networks_;
  std::set<bool> threads_;  ///< That have used cuBLAS: autograd's is true.
  std::set<const OperatorGraph*> recorded_;  ///< As CUDA graphs.
  bool is_replay_ = false;                   ///< The pass.
  std::size_t pass_ = 0;
  std::vector<ScheduledEvent> result_;
};

}  // namespace

std::size_t NumPasses(const PassSequence& passes) {
  constexpr std::size_t kRunsOfOne = 2;
  constexpr std::size_t kRunsOfSeveral = 4;
  const std::size_t size = passes.list.size();
  return size * (size == 1 ? kRunsOfOne : kRunsOfSeveral);
}

std::size_t FirstCounted(const PassSequence& passes) {
  return NumPasses(passes) - passes.list.size();
}

std::vector<ScheduledEvent> MakeSchedule(const PassSequence& passes,
                                         const MemoryOptions& options) {
  std::vector<ScheduledEvent> schedule = LoopMaker(passes, options).Make();
  if (RunsInOnnxRuntime(*passes.list.front().graph)) PlanPasses(schedule);
  return WithAwaitedFrees(passes, std::move(schedule));
}

}  // namespace foretell::memory
