#include "src/parallel/pipeline_cut.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "src/parallel/pipeline_blocks.h"
#include "src/parallel/pipeline_schedule.h"
#include "src/parallel/step_rewriter.h"

// A node of the backward pass is of a stage that has all tensors of the forward
// pass that the node reads, and the parameter whose gradient it makes. If it
// reads none, gradients alone, it is of the stage of the node before it: the
// backward pass goes from stage to stage once.

namespace foretell::parallel {
namespace {

using StageList = std::vector<int>;  ///< Ascending.

void Insert(const StageList& more, StageList& stages) {
  StageList joined;
  std::ranges::set_union(stages, more, std::back_inserter(joined));
  stages = std::move(joined);
}

class StepCutter {
 public:
  StepCutter(const OperatorGraph& graph, const StepFacts& facts,
             const ParallelSpec& spec)
      : graph_(graph),
        facts_(facts),
        last_stage_(StagesOf(spec) - 1),
        forward_(CutForward(graph, facts, spec)),
        touching_(graph.storages().size()),
        is_moved_(graph.nodes().size(), false) {
    cut_.stages_of.resize(graph.nodes().size());
    cut_.adds_shared.resize(graph.nodes().size(), false);
    cut_.blocks = forward_.blocks;
  }

  PipelineCut Run() {
    CountMicroBatches();
    FindMakers();
    PlaceForward();
    PlaceBackward();
    PlaceSums();
    return std::move(cut_);
  }

 private:
  void CountMicroBatches() {
    int batch = 0;
    Phase before = Phase::kForward;
    for (const Node& node : graph_.nodes()) {
      if (node.phase == Phase::kForward && before == Phase::kBackward) ++batch;
      before = node.phase;
      cut_.micro_batch_of.push_back(batch);
    }
  }

  void FindMakers() {
    cut_.maker_of.assign(graph_.storages().size(), kNone);
    for (const MemoryEvent& event : graph_.events()) {
      if (event.kind == MemoryEvent::Kind::kAllocate) {
        cut_.maker_of[IndexOf(event.storage)] = event.node;
      }
    }
  }

  void PlaceForward() {
    const std::vector<bool> varies = DependingOnParameters();
    std::vector<StageList> readers(graph_.values().size());
    for (auto id = std::ssize(graph_.nodes()) - 1; id >= 0; --id) {
      const Node& node = graph_.node(static_cast<NodeId>(id));
      if (node.phase != Phase::kForward) continue;
      StageList& stages = cut_.stages_of[static_cast<std::size_t>(id)];
      for (const ValueId output : node.outputs) {
        if (!varies[static_cast<std::size_t>(id)]) {
          Insert(readers[IndexOf(output)], stages);
        }
      }
      if (stages.empty()) {
        stages = {forward_.stage_of[static_cast<std::size_t>(id)]};
      }
      for (const ValueId input : node.inputs) {
        Insert(stages, readers[IndexOf(input)]);
      }
    }
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      if (graph_.node(id).phase == Phase::kForward) Touch(id);
    }
    for (StorageId id = 0; id < std::ssize(touching_); ++id) {
      const NodeId maker = cut_.maker_of[IndexOf(id)];
      if (maker == kNone) continue;
      if (graph_.node(maker).phase != Phase::kForward) continue;
      Insert(cut_.stages_of[IndexOf(maker)], touching_[IndexOf(id)]);
    }
  }

  /// By node of the forward pass.
  std::vector<bool> DependingOnParameters() const {
    std::vector<bool> varies(graph_.storages().size(), false);
    std::vector<bool> found(graph_.nodes().size(), false);
    for (const Parameter& one : facts_.parameters) {
      varies[IndexOf(one.storage)] = true;
    }
    const auto is_in = [&](ValueId id) {
      return varies[IndexOf(graph_.value(id).storage)];
    };
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      if (node.phase != Phase::kForward) continue;
      if (std::ranges::none_of(node.inputs, is_in)) continue;
      found[IndexOf(id)] = true;
      for (const ValueId output : node.outputs) {
        varies[IndexOf(graph_.value(output).storage)] = true;
      }
    }
    return found;
  }

  /// The stages of the node have what it reads and writes.
  void Touch(NodeId id) {
    const Node& node = graph_.node(id);
    const StageList& stages = cut_.stages_of[IndexOf(id)];
    for (const std::vector<ValueId>* list : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *list) {
        Insert(stages, touching_[IndexOf(graph_.value(value).storage)]);
      }
    }
  }

  void PlaceBackward() {
    int stage = last_stage_;
    Phase before = Phase::kForward;
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Phase phase = graph_.node(id).phase;
      if (phase == Phase::kBackward) {
        if (before != Phase::kBackward) stage = last_stage_;
        PlaceBackwardNode(id, stage);
      }
      before = phase;
    }
  }

  void PlaceBackwardNode(NodeId id, int& stage) {
    StageList& stages = cut_.stages_of[IndexOf(id)];
    if (forward_.stage_of[IndexOf(id)] != kNone) {  // Recomputes a block.
      stages = {forward_.stage_of[IndexOf(id)]};
      return Touch(id);
    }
    bool writes_gradient = false;
    const std::optional<StageList> found = StagesWith(id, writes_gradient);
    is_moved_[IndexOf(id)] = !found;
    if (!found || found->empty()) {
      stages = {stage};
      return;
    }
    if (writes_gradient && found->size() > 1) {
      cut_.adds_shared[IndexOf(id)] = true;
      stages = *found;
      return;
    }
    const auto above = std::ranges::upper_bound(*found, stage);
    const int own = above == found->begin() ? *above : *std::prev(above);
    stages = {own};
    stage = std::min(stage, own);
  }

  /// Stages that have all that the node needs of them; empty if it needs
  /// gradients alone.
  std::optional<StageList> StagesWith(NodeId id, bool& writes_gradient) const {
    std::optional<StageList> found;
    const auto meet = [&](const StageList& stages) {
      if (stages.empty()) return;
      if (!found) {
        found = stages;
        return;
      }
      StageList both;
      std::ranges::set_intersection(*found, stages, std::back_inserter(both));
      found = std::move(both);
    };
    const Node& node = graph_.node(id);
    for (const ValueId output : node.outputs) {
      const StorageId storage = graph_.value(output).storage;
      const ParameterIndex index = facts_.OwnerOf(storage);
      if (index == kNone) continue;
      const Parameter& owner = facts_.parameters[IndexOf(index)];
      writes_gradient |= owner.gradient == storage;
      meet(touching_[IndexOf(owner.storage)]);
    }
    for (const ValueId input : node.inputs) {
      meet(StagesHaving(graph_.value(input).storage));
    }
    return found;
  }

  /// Also those whose recomputation makes it without naming it, as the mask of
  /// a dropout.
  StageList StagesHaving(StorageId storage) const {
    const StageList& touching = touching_[IndexOf(storage)];
    const NodeId maker = cut_.maker_of[IndexOf(storage)];
    if (!touching.empty() || maker == kNone ||
        graph_.node(maker).phase != Phase::kBackward) {
      return touching;
    }
    const int stage = forward_.stage_of[IndexOf(maker)];
    return stage == kNone ? touching : StageList{stage};
  }

  /// Nodes that move gradients into such sums alone.
  void PlaceSums() {
    std::vector<bool> has_reader(graph_.values().size(), false);
    std::vector<bool> has_other(graph_.values().size(), false);
    std::vector<StageList> summed(graph_.values().size());
    for (auto at = std::ssize(graph_.nodes()) - 1; at >= 0; --at) {
      const auto id = static_cast<NodeId>(at);
      const Node& node = graph_.node(id);
      if (node.phase != Phase::kBackward) continue;
      const auto is_summed = [&](ValueId value) {
        return has_reader[IndexOf(value)] && !has_other[IndexOf(value)];
      };
      if (is_moved_[IndexOf(id)] && !node.outputs.empty() &&
          std::ranges::all_of(node.outputs, is_summed)) {
        cut_.adds_shared[IndexOf(id)] = true;
        cut_.stages_of[IndexOf(id)] = summed[IndexOf(node.outputs.front())];
      }
      for (const ValueId input : node.inputs) {
        has_reader[IndexOf(input)] = true;
        if (cut_.adds_shared[IndexOf(id)]) {
          summed[IndexOf(input)] = cut_.stages_of[IndexOf(id)];
        } else {
          has_other[IndexOf(input)] = true;
        }
      }
    }
  }

  const OperatorGraph& graph_;
  const StepFacts& facts_;
  int last_stage_;
  ForwardStages forward_;
  /// By storage: stages whose forward pass, or recomputation, has it.
  std::vector<StageList> touching_;
  std::vector<bool> is_moved_;  ///< By node: it moves gradients alone.
  PipelineCut cut_;
};

}  // namespace

PipelineCut CutStep(const OperatorGraph& graph, const StepFacts& facts,
                    const ParallelSpec& spec) {
  return StepCutter(graph, facts, spec).Run();
}

}  // namespace foretell::parallel
