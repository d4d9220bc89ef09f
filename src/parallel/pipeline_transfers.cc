#include "src/parallel/pipeline_transfers.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {
namespace {

class TransferSearch {
 public:
  TransferSearch(const OperatorGraph& graph, const StepFacts& facts,
                 const PipelineCut& cut, const ParallelSpec& spec)
      : graph_(graph), facts_(facts), cut_(cut), spec_(spec) {}

  std::vector<PipelineTransfer> Run() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      if (node.phase == Phase::kOptimizer || cut_.adds_shared[IndexOf(id)]) {
        continue;
      }
      for (const int stage : cut_.stages_of[IndexOf(id)]) {
        for (const ValueId input : node.inputs) Read(id, stage, input);
      }
    }
    return std::move(found_);
  }

 private:
  void Read(NodeId reader, int stage, ValueId value) {
    const StorageId storage = graph_.value(value).storage;
    const ParameterIndex owner = facts_.OwnerOf(storage);
    if (owner != kNone) return;
    NodeId maker = graph_.value(value).producer;
    if (maker == kNone) maker = cut_.maker_of[IndexOf(storage)];
    if (maker == kNone || graph_.node(maker).phase == Phase::kOptimizer) return;
    const std::vector<int>& made = cut_.stages_of[IndexOf(maker)];
    const int to = GpuOfStage(spec_, stage);
    const auto is_here = [&](int one) { return GpuOfStage(spec_, one) == to; };
    if (std::ranges::any_of(made, is_here)) return;
    const int from = GpuOfStage(spec_, made.front());
    const auto [at, is_new] =
        index_of_.try_emplace({storage, made.front(), to}, found_.size());
    if (is_new) {
      found_.push_back({.from = from,
                        .to = to,
                        .tag = std::ssize(found_),
                        .storage = storage,
                        .made = PassOf(maker, made.front()),
                        .read = PassOf(reader, stage)});
    }
    std::vector<ValueId>& values = found_[at->second].values;
    if (std::ranges::count(values, value) == 0) values.push_back(value);
  }

  PipelineAction PassOf(NodeId id, int stage) const {
    return {stage, cut_.micro_batch_of[IndexOf(id)],
            graph_.node(id).phase == Phase::kBackward};
  }

  const OperatorGraph& graph_;
  const StepFacts& facts_;
  const PipelineCut& cut_;
  const ParallelSpec& spec_;
  /// By storage, stage of the maker, and receiver: a gradient that is added to
  /// in place goes from stage to stage in the same storage.
  std::map<std::tuple<StorageId, int, int>, std::size_t> index_of_;
  std::vector<PipelineTransfer> found_;
};

}  // namespace

std::vector<PipelineTransfer> FindTransfers(const OperatorGraph& graph,
                                            const StepFacts& facts,
                                            const PipelineCut& cut,
                                            const ParallelSpec& spec) {
  return TransferSearch(graph, facts, cut, spec).Run();
}

}  // namespace foretell::parallel
