#include "src/runtime/compile/fuse.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "src/graph/index_of.h"
#include "src/graph/strides.h"
#include "src/runtime/compile/loops.h"
#include "src/runtime/compile/pass_buffers.h"
#include "src/runtime/compile/peak_order.h"
#include "src/runtime/compile/primitive_emitter.h"
#include "src/runtime/compile/reuse.h"
#include "src/runtime/compile/schedule.h"

// Writes scheduled kernels as nodes. A kernel reads the buffers of its loops,
// through the views that they look at, and writes those of its results that
// another kernel, or the step, reads. The others never leave its registers.

namespace foretell::runtime {
namespace {

class KernelWriter {
 public:
  explicit KernelWriter(const OperatorGraph& graph)
      : graph_(graph),
        loops_(LowerLoops(graph)),
        emitter_(graph, graph.info(), false),
        kernel_of_(graph.values().size(), kNone),
        leaves_(graph.values().size(), false) {}

  OperatorGraph Run() {
    std::vector<KernelNodes> kernels = ScheduleKernels(graph_, loops_);
    FindLeaving(kernels);
    PlanMemory(kernels);
    if (graph_.info().runtime.cuda_graphs) CopyInputs();
    for (const KernelNodes& kernel : kernels) {
      const Node& first = graph_.node(kernel.front());
      phase_ = std::max(phase_, first.phase);
      AddViews();
      emitter_.Begin(first);
      Add(kernel);
    }
    phase_ = Phase::kOptimizer;
    AddViews();
    for (const auto& [id, now] : copied_) emitter_.Set(id, now);
    return emitter_.Finish();
  }

 private:
  const Loop& LoopOf(NodeId id) const { return loops_[IndexOf(id)]; }

  /// A CUDA graph reads its inputs where they were when it was recorded;
  /// parameters and buffers stay there (torch/_inductor/cudagraph_trees.py).
  void CopyInputs() {
    if (graph_.nodes().empty()) return;
    emitter_.Begin(graph_.nodes().front());
    for (const ValueId id : graph_.inputs()) {
      const Value& value = graph_.value(id);
      if (value.producer != kNone ||
          graph_.storage(value.storage).role != TensorRole::kInput) {
        continue;
      }
      copied_.emplace_back(id, emitter_.Now(id));
      emitter_.Set(id, emitter_.Clone(emitter_.Now(id), IsChannelsLast(value)));
    }
  }

  /// Results that are read outside of their kernel.
  void FindLeaving(const std::vector<KernelNodes>& kernels) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      for (const NodeId id : kernels[i]) {
        for (const ValueId output : graph_.node(id).outputs) {
          kernel_of_[IndexOf(output)] = static_cast<int>(i);
        }
      }
    }
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      for (const NodeId id : kernels[i]) {
        for (const LoopRead& read : LoopOf(id).reads) {
          if (kernel_of_[IndexOf(read.buffer)] != static_cast<int>(i)) {
            leaves_[IndexOf(read.buffer)] = true;
          }
        }
      }
    }
    for (ValueId id : graph_.outputs()) leaves_[IndexOf(BaseOf(id))] = true;
  }

  /// Sorts the kernels of each pass and shares memory among their results.
  void PlanMemory(std::vector<KernelNodes>& kernels) {
    const auto phase_of = [this](const KernelNodes& kernel) {
      return graph_.node(kernel.front()).phase;
    };
    for (auto begin = kernels.begin(); begin != kernels.end();) {
      const Phase phase = phase_of(*begin);
      const auto end = std::find_if(begin, kernels.end(), [&](const auto& one) {
        return phase_of(one) != phase;
      });
      if (phase != Phase::kOptimizer) PlanPass({begin, end});
      begin = end;
    }
  }

  void PlanPass(std::span<KernelNodes> kernels) {
    const PassBuffers buffers = BuffersOf(graph_, loops_, kernels);
    const std::vector<int> order = OrderForPeak(buffers);
    for (const Reuse& reuse :
         PlanReuse(graph_, loops_, {kernels, buffers, order, leaves_})) {
      emitter_.ShareStorage(reuse.made, reuse.of);
    }
    std::vector<KernelNodes> sorted;
    for (const int kernel : order) {
      sorted.push_back(std::move(kernels[IndexOf(kernel)]));
    }
    std::ranges::move(sorted, kernels.begin());
  }

  ValueId BaseOf(ValueId id) const {
    NodeId producer = graph_.value(id).producer;
    while (producer != kNone && LoopOf(producer).kind == LoopKind::kView) {
      id = graph_.node(producer).inputs.front();
      producer = graph_.value(id).producer;
    }
    return id;
  }

  /// The views, in the graph's order, whose tensor is there by now, of the
  /// passes so far.
  void AddViews() {
    std::vector<NodeId> rest;
    if (views_.empty() && !listed_) {
      listed_ = true;
      for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
        if (LoopOf(id).kind == LoopKind::kView) views_.push_back(id);
      }
    }
    for (const NodeId id : views_) {
      const Node& node = graph_.node(id);
      if (node.phase > phase_ || emitter_.Now(node.inputs.front()) == kNone) {
        rest.push_back(id);
        continue;
      }
      emitter_.Begin(node);
      emitter_.Copy(node, false);
    }
    views_ = std::move(rest);
  }

  void Add(const KernelNodes& kernel) {
    const NodeId first = kernel.front();
    if (LoopOf(first).kind == LoopKind::kExtern) {
      return emitter_.Copy(graph_.node(first), true);
    }
    const bool reduces = std::ranges::any_of(kernel, [&](NodeId id) {
      return LoopOf(id).kind == LoopKind::kReduction;
    });
    const NodeId added =
        emitter_.AddKernel(reduces ? "fused_reduce" : "fused_elementwise",
                           Operands(kernel), Results(kernel));
    AddInside(kernel, added);
  }

  std::vector<ValueId> Operands(const KernelNodes& kernel) const {
    const int index =
        kernel_of_[IndexOf(graph_.node(kernel.front()).outputs.front())];
    std::vector<ValueId> operands;
    for (const NodeId id : kernel) {
      for (const LoopRead& read : LoopOf(id).reads) {
        if (kernel_of_[IndexOf(read.buffer)] == index) continue;
        const ValueId now = emitter_.Now(read.value) != kNone
                                ? emitter_.Now(read.value)
                                : emitter_.Now(read.buffer);
        if (std::ranges::count(operands, now) == 0) operands.push_back(now);
      }
    }
    return operands;
  }

  std::vector<ValueId> Results(const KernelNodes& kernel) const {
    std::vector<ValueId> results;
    for (const NodeId id : kernel) {
      for (const ValueId output : graph_.node(id).outputs) {
        if (leaves_[IndexOf(output)]) results.push_back(output);
      }
    }
    // A result that nothing reads: what the step updates.
    if (results.empty()) {
      results.push_back(graph_.node(kernel.back()).outputs.front());
    }
    return results;
  }

  void AddInside(const KernelNodes& kernel, NodeId added) {
    std::set<NodeId> inside(kernel.begin(), kernel.end());
    for (const NodeId id : kernel) {
      inside.insert(LoopOf(id).inlined.begin(), LoopOf(id).inlined.end());
    }
    for (const NodeId id : inside) {
      const Node& node = graph_.node(id);
      std::vector<ValueId> inputs;
      for (const ValueId input : node.inputs) {
        inputs.push_back(Inside(added, input));
      }
      emitter_.AddInside(added, node, std::move(inputs));
    }
    emitter_.ForgetInside();
  }

  /// A tensor that is not in memory.
  ValueId Inside(NodeId added, ValueId id) {
    return emitter_.Now(id) != kNone ? emitter_.Now(id)
                                     : emitter_.Inside(added, id);
  }

  const OperatorGraph& graph_;
  std::vector<Loop> loops_;
  PrimitiveEmitter emitter_;
  std::vector<int> kernel_of_;  ///< By value; kNone: inline, or a source.
  std::vector<bool> leaves_;    ///< By value.
  std::vector<NodeId> views_;   ///< Not yet added.
  bool listed_ = false;
  /// Inputs in front of a CUDA graph, by value of the graph.
  std::vector<std::pair<ValueId, ValueId>> copied_;
  Phase phase_ = Phase::kForward;  ///< Of the newest kernel.
};

}  // namespace

OperatorGraph Fuse(const OperatorGraph& graph) {
  return KernelWriter(graph).Run();
}

}  // namespace foretell::runtime
