#include "src/parallel/pipeline_lives.h"

#include <fmt/core.h>

#include <algorithm>

#include "foretell/error.h"
#include "src/core/numbers.h"
#include "src/parallel/pipeline_results.h"
#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {
namespace {

constexpr std::ptrdiff_t kNowhere = -1;

class LifeSearch {
 public:
  LifeSearch(const OperatorGraph& graph, const StepFacts& facts,
             const PipelineCut& cut, const ParallelSpec& spec,
             const std::vector<PipelineTransfer>& transfers, int gpu,
             const std::vector<PipelineAction>& actions)
      : graph_(graph),
        facts_(facts),
        cut_(cut),
        spec_(spec),
        transfers_(transfers),
        gpu_(gpu),
        actions_(actions),
        results_(FindResults(graph, cut)),
        place_of_(graph.nodes().size(), kNowhere),
        last_use_(graph.storages().size(), kNowhere),
        first_use_(graph.storages().size(), kNowhere) {
    found_.has_storage.assign(graph.storages().size(), false);
    found_.is_received.assign(graph.storages().size(), false);
    found_.is_retimed.assign(graph.storages().size(), false);
  }

  PipelineLives Run() {
    PlacePasses();
    PlaceOptimizer();
    FindStorages();
    FindUses();
    found_.frees_after.resize(found_.order.size());
    found_.births_before.resize(found_.order.size());
    AddLateBirths();
    Retime();
    return std::move(found_);
  }

 private:
  /// The action's index; kNowhere if it is another GPU's.
  std::ptrdiff_t ActionAt(const PipelineAction& wanted) const {
    const auto found =
        std::ranges::find_if(actions_, [&](const PipelineAction& one) {
          return one.stage == wanted.stage &&
                 one.micro_batch == wanted.micro_batch &&
                 one.is_backward == wanted.is_backward;
        });
    return found == actions_.end() ? kNowhere : found - actions_.begin();
  }

  std::size_t SlotOf(int stage, int batch, bool is_backward) const {
    const int batches = MicroBatchesOf(spec_);
    return IndexOf((stage * batches + batch) * 2 + (is_backward ? 1 : 0));
  }

  void PlacePasses() {
    const int batches = MicroBatchesOf(spec_);
    std::vector<std::vector<NodeId>> nodes_in(
        SlotOf(StagesOf(spec_), 0, false));
    std::vector<bool> is_made(graph_.values().size(), false);
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const int batch = cut_.micro_batch_of[IndexOf(id)];
      if (batch >= batches) RefuseBatches();
      const int stage = StageHere(id, is_made);
      if (stage == kNone) continue;
      for (const ValueId value : graph_.node(id).outputs) {
        is_made[IndexOf(value)] = true;
      }
      nodes_in[SlotOf(stage, batch, graph_.node(id).phase == Phase::kBackward)]
          .push_back(id);
    }
    if (cut_.micro_batch_of.empty() ||
        cut_.micro_batch_of.back() + 1 != batches) {
      RefuseBatches();
    }
    for (const PipelineAction& action : actions_) {
      found_.begins.push_back(found_.order.size());
      for (const NodeId id : nodes_in[SlotOf(action.stage, action.micro_batch,
                                             action.is_backward)]) {
        Append(id);
      }
    }
    found_.begins.push_back(found_.order.size());
  }

  void RefuseBatches() const {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: the step is not one of {} micro-batches",
                            ToString(spec_), MicroBatchesOf(spec_)));
  }

  void Append(NodeId id) {
    place_of_[IndexOf(id)] = std::ssize(found_.order);
    found_.order.push_back(id);
  }

  /// The first of the node's stages that the GPU has, for passes; kNone: it
  /// does not run the node. `is_made`: values of the GPU's earlier nodes.
  int StageHere(NodeId id, const std::vector<bool>& is_made) const {
    if (cut_.adds_shared[IndexOf(id)]) {
      const auto is_here = [&](ValueId value) {
        return is_made[IndexOf(value)];
      };
      if (std::ranges::none_of(graph_.node(id).inputs, is_here)) return kNone;
    }
    for (const int stage : cut_.stages_of[IndexOf(id)]) {
      if (GpuOfStage(spec_, stage) == gpu_) return stage;
    }
    return kNone;
  }

  void FindStorages() {
    for (const NodeId id : found_.order) NoteStoragesOf(graph_.node(id));
    for (const PipelineTransfer& one : transfers_) {
      if (one.to != gpu_) continue;
      found_.has_storage[IndexOf(one.storage)] = true;
      found_.is_received[IndexOf(one.storage)] = true;
    }
    for (StorageId id = 0; id < std::ssize(graph_.storages()); ++id) {
      const NodeId maker = cut_.maker_of[IndexOf(id)];
      const ParameterIndex owner = facts_.OwnerOf(id);
      if (owner != kNone) {
        found_.has_storage[IndexOf(id)] = HasParameter(owner);
      } else if (maker != kNone && place_of_[IndexOf(maker)] != kNowhere) {
        found_.has_storage[IndexOf(id)] = true;
      }
    }
  }

  void NoteStoragesOf(const Node& node) {
    for (const std::vector<ValueId>* list : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *list) {
        const StorageId storage = graph_.value(value).storage;
        const NodeId maker = cut_.maker_of[IndexOf(storage)];
        if (maker != kNone && place_of_[IndexOf(maker)] == kNowhere) continue;
        found_.has_storage[IndexOf(storage)] = true;
      }
    }
  }

  /// Whether one of the GPU's stages reads it; the first GPU has those that
  /// nothing reads.
  bool HasParameter(ParameterIndex index) {
    if (parameter_here_.empty()) FindParameters();
    return parameter_here_[IndexOf(index)];
  }

  void FindParameters() {
    std::vector<bool> is_read(facts_.parameters.size(), false);
    parameter_here_.assign(facts_.parameters.size(), false);
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      if (node.phase != Phase::kForward) continue;
      for (const ValueId input : node.inputs) {
        const ParameterIndex index =
            facts_.OwnerOf(graph_.value(input).storage);
        if (index == kNone) continue;
        is_read[IndexOf(index)] = true;
        if (place_of_[IndexOf(id)] != kNowhere) {
          parameter_here_[IndexOf(index)] = true;
        }
      }
    }
    if (gpu_ != 0) return;
    for (std::size_t i = 0; i < is_read.size(); ++i) {
      if (!is_read[i]) parameter_here_[i] = true;
    }
  }

  /// What of the optimizer's work is on parameters of the GPU.
  void PlaceOptimizer() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      if (node.phase != Phase::kOptimizer) continue;
      const auto is_here = [&](ValueId value) {
        const StorageId storage = graph_.value(value).storage;
        const ParameterIndex owner = facts_.OwnerOf(storage);
        return owner == kNone || HasParameter(owner);
      };
      if (node.outputs.empty() || std::ranges::any_of(node.outputs, is_here)) {
        Append(id);
      }
    }
  }

  void FindUses() {
    for (std::size_t place = 0; place < found_.order.size(); ++place) {
      const Node& node = graph_.node(found_.order[place]);
      for (const std::vector<ValueId>* list : {&node.inputs, &node.outputs}) {
        for (const ValueId value : *list) {
          if (IsOfItsBatch(found_.order[place], value)) {
            Use(graph_.value(value).storage, place);
          }
        }
      }
    }
    for (StorageId id = 0; id < std::ssize(graph_.storages()); ++id) {
      const NodeId maker = cut_.maker_of[IndexOf(id)];
      if (maker == kNone || place_of_[IndexOf(maker)] == kNowhere) continue;
      Use(id, static_cast<std::size_t>(place_of_[IndexOf(maker)]));
    }
  }

  /// False for what autograd saved for the backward pass of an earlier
  /// micro-batch: RepeatRun has the same source for all that it adds.
  bool IsOfItsBatch(NodeId id, ValueId value) const {
    const NodeId maker = cut_.maker_of[IndexOf(graph_.value(value).storage)];
    return graph_.value(value).producer != kNone || maker == kNone ||
           cut_.micro_batch_of[IndexOf(maker)] ==
               cut_.micro_batch_of[IndexOf(id)];
  }

  void Use(StorageId id, std::size_t place) {
    const auto at = static_cast<std::ptrdiff_t>(place);
    std::ptrdiff_t& first = first_use_[IndexOf(id)];
    std::ptrdiff_t& last = last_use_[IndexOf(id)];
    if (first == kNowhere || at < first) first = at;
    last = std::max(last, at);
  }

  /// Gradients of a parameter of several stages, made by another stage's node.
  void AddLateBirths() {
    for (StorageId id = 0; id < std::ssize(graph_.storages()); ++id) {
      const NodeId maker = cut_.maker_of[IndexOf(id)];
      if (!found_.has_storage[IndexOf(id)] || found_.is_received[IndexOf(id)] ||
          maker == kNone || place_of_[IndexOf(maker)] != kNowhere) {
        continue;
      }
      const std::ptrdiff_t first = first_use_[IndexOf(id)];
      if (first == kNowhere) {
        found_.has_storage[IndexOf(id)] = false;
        continue;
      }
      found_.births_before[static_cast<std::size_t>(first)].push_back(id);
    }
  }

  void Retime() {
    std::vector<std::ptrdiff_t> held_until(graph_.storages().size(), kNowhere);
    for (const PipelineTransfer& one : transfers_) {
      if (one.from != gpu_ || found_.is_received[IndexOf(one.storage)])
        continue;
      std::ptrdiff_t& until = held_until[IndexOf(one.storage)];
      until = std::max(until, EndOfSent(one.made));
    }
    for (const PipelineResult& one : results_) {
      const std::ptrdiff_t place = place_of_[IndexOf(one.node)];
      if (place == kNowhere) continue;
      std::ptrdiff_t& until = held_until[IndexOf(one.storage)];
      until = std::max(until, EndOfResult(one));
    }
    std::vector<NodeId> freed_at(graph_.storages().size(), kNone);
    std::vector<bool> is_freed(graph_.storages().size(), false);
    for (const MemoryEvent& event : graph_.events()) {
      if (event.kind != MemoryEvent::Kind::kFree) continue;
      is_freed[IndexOf(event.storage)] = true;
      freed_at[IndexOf(event.storage)] = event.node;
    }
    for (StorageId id = 0; id < std::ssize(graph_.storages()); ++id) {
      const std::size_t at = IndexOf(id);
      if (!found_.has_storage[at] || found_.is_received[at]) continue;
      const std::ptrdiff_t until =
          is_freed[at] ? EndOfFreed(id, freed_at[at], held_until[at])
                       : EndOfKept(id, held_until[at]);
      if (until == kNowhere) continue;
      found_.is_retimed[at] = true;
      found_.frees_after[static_cast<std::size_t>(until)].push_back(id);
    }
  }

  /// The last node until which a stage holds what it sent after `made`.
  std::ptrdiff_t EndOfSent(const PipelineAction& made) const {
    std::ptrdiff_t action = kNowhere;
    if (made.is_backward) {
      action = ActionAt(made);
      for (auto next = action + 1; next < std::ssize(actions_); ++next) {
        if (!actions_[static_cast<std::size_t>(next)].is_backward) continue;
        action = next;
        break;
      }
    } else {
      action = ActionAt({made.stage, made.micro_batch, true});
    }
    return action == kNowhere ? kNowhere : EndOf(action);
  }

  /// A loss stays until the step returns, a result of the network until its
  /// backward pass is over, and in schedules of one stage until the next one is
  /// there, which replaces it in the loop's variable.
  std::ptrdiff_t EndOfResult(const PipelineResult& one) const {
    const std::ptrdiff_t end = EndOf(std::ssize(actions_) - 1);
    if (one.is_loss) return end;
    const int stage = StagesOf(spec_) - 1;
    const std::ptrdiff_t backward = ActionAt({stage, one.micro_batch, true});
    const std::ptrdiff_t next = ActionAt({stage, one.micro_batch + 1, false});
    if (spec_.stages_per_gpu > 1) return EndOf(backward);
    if (next == kNowhere) return end;
    return std::max(EndOf(backward), EndOfNetwork(next));
  }

  /// The last node of a forward pass of the last stage before the loss.
  std::ptrdiff_t EndOfNetwork(std::ptrdiff_t action) const {
    std::ptrdiff_t end = kNowhere;
    const int batch = actions_[static_cast<std::size_t>(action)].micro_batch;
    for (const PipelineResult& one : results_) {
      if (one.is_loss || one.micro_batch != batch) continue;
      end = std::max(end, place_of_[IndexOf(one.node)]);
    }
    return end;
  }

  std::ptrdiff_t EndOf(std::ptrdiff_t action) const {
    return static_cast<std::ptrdiff_t>(
               found_.begins[static_cast<std::size_t>(action) + 1]) -
           1;
  }

  /// kNowhere: where the graph has it.
  std::ptrdiff_t EndOfFreed(StorageId id, NodeId node,
                            std::ptrdiff_t held_until) const {
    if (node == kNone) return kNowhere;
    const std::ptrdiff_t place = place_of_[IndexOf(node)];
    const std::ptrdiff_t last = std::max(last_use_[IndexOf(id)], held_until);
    return place >= last ? kNowhere : std::max(last, place);
  }

  /// What lives until the next step; kNowhere: it does so here, too.
  std::ptrdiff_t EndOfKept(StorageId id, std::ptrdiff_t held_until) const {
    const NodeId maker = cut_.maker_of[IndexOf(id)];
    if (maker == kNone || facts_.OwnerOf(id) != kNone ||
        graph_.node(maker).phase == Phase::kOptimizer) {
      return kNowhere;
    }
    return std::max(
        {EndOf(std::ssize(actions_) - 1), held_until, last_use_[IndexOf(id)]});
  }

  const OperatorGraph& graph_;
  const StepFacts& facts_;
  const PipelineCut& cut_;
  const ParallelSpec& spec_;
  const std::vector<PipelineTransfer>& transfers_;
  int gpu_;
  const std::vector<PipelineAction>& actions_;
  const std::vector<PipelineResult> results_;
  std::vector<std::ptrdiff_t> place_of_;   ///< By node, in the order.
  std::vector<std::ptrdiff_t> last_use_;   ///< By storage, in the order.
  std::vector<std::ptrdiff_t> first_use_;  ///< Likewise.
  std::vector<bool> parameter_here_;       ///< By parameter.
  PipelineLives found_;
};

}  // namespace

PipelineLives LivesOf(const OperatorGraph& graph, const StepFacts& facts,
                      const PipelineCut& cut, const ParallelSpec& spec,
                      const std::vector<PipelineTransfer>& transfers, int gpu,
                      const std::vector<PipelineAction>& actions) {
  return LifeSearch(graph, facts, cut, spec, transfers, gpu, actions).Run();
}

}  // namespace foretell::parallel
