#include "src/runtime/compile/compile.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/core/failure.h"
#include "src/graph/block_runs.h"
#include "src/graph/compiled_call.h"
#include "src/graph/index_of.h"
#include "src/graph/recompute_blocks.h"
#include "src/runtime/compile/concat_slices.h"
#include "src/runtime/compile/decompose.h"
#include "src/runtime/compile/freeze.h"
#include "src/runtime/compile/fuse.h"
#include "src/runtime/compile/graph_breaks.h"
#include "src/runtime/compile/image_copies.h"
#include "src/runtime/compile/join_regions.h"
#include "src/runtime/compile/partition.h"
#include "src/runtime/compile/region.h"
#include "src/runtime/compile/saved_results.h"
#include "src/runtime/compile/split_loops.h"

namespace foretell::runtime {
namespace {

/// Blocks that the step computes again.
struct Checkpoints {
  RecomputeSpec spec;
  BlockOf block_of;  ///< Sees the operators of all regions in their order.
};

class Compiler {
 public:
  /// `checkpoints`: null without.
  Compiler(const RuntimeSpec& spec, const TorchVersion& torch,
           const Checkpoints* checkpoints = nullptr)
      : spec_(spec), torch_(torch), checkpoints_(checkpoints) {}

  /// `recorded`: the step without the changes of ExposeSaved.
  OperatorGraph Compile(const OperatorGraph& step,
                        const OperatorGraph& recorded) const {
    if (IsOnePart(step)) return CompileRegion(step);
    const Regions regions = FindRegions(step, spec_);
    std::vector<std::optional<Region>> compiled(regions.is_compiled.size());
    for (int i = 0; std::cmp_less(i, compiled.size()); ++i) {
      const auto place = static_cast<std::size_t>(i);
      if (!regions.is_compiled[place]) continue;
      compiled[place] = CutRegion(step, regions.of_node, i);
      compiled[place]->graph = CompileRegion(compiled[place]->graph);
    }
    return JoinRegions(recorded, regions, compiled);
  }

 private:
  /// Whether the step is compiled as one graph, optimizer included. Otherwise
  /// the optimizer stays as it was recorded, with its temporaries and what
  /// earlier steps have left. CUDA graphs, whose pool has segments of its own,
  /// and steps of several batches are not modelled in parts.
  bool IsOnePart(const OperatorGraph& step) const {
    if (!spec_.breaks.empty() || !spec_.only.empty()) return false;
    return step.info().mode == Mode::kInference || spec_.cuda_graphs ||
           !RunsPassByPass(step);
  }

  OperatorGraph CompileRegion(const OperatorGraph& graph) const {
    OperatorGraph primitives = Decompose(graph, spec_, torch_);
    const bool trains = graph.info().mode == Mode::kTraining;
    if (trains) primitives = Partitioned(primitives);
    OperatorGraph laid_out = CopyImages(primitives);
    if (IsFrozen(laid_out.info())) laid_out = Freeze(laid_out);
    return Fuse(WriteConcatSlices(SplitLoops(laid_out)));
  }

  OperatorGraph Partitioned(const OperatorGraph& primitives) const {
    if (checkpoints_ == nullptr) return Partition(primitives);
    const BlockRuns runs =
        FindBlockRuns(primitives, checkpoints_->spec, checkpoints_->block_of);
    return Partition(primitives, &runs);
  }

  const RuntimeSpec& spec_;
  const TorchVersion& torch_;
  const Checkpoints* checkpoints_;
};

/// Whether all operators of the blocks are compiled.
bool AreCompiled(const std::vector<BlockRun>& blocks, const Regions& regions) {
  return std::ranges::all_of(blocks, [&](const BlockRun& block) {
    const std::span all(regions.of_node);
    return std::ranges::all_of(
        all.subspan(IndexOf(block.first),
                    IndexOf(block.last - block.first + 1)),
        [&](int region) { return regions.is_compiled[IndexOf(region)]; });
  });
}

OperatorGraph CompileWithCheckpoints(const OperatorGraph& recorded,
                                     const RuntimeSpec& spec,
                                     const TorchVersion& torch,
                                     const std::string& recompute) {
  const OperatorGraph step = ExposeSaved(recorded);
  return ChooseBlocks(
      step, recompute,
      [&](const RecomputeSpec& blocks,
          int level) -> std::optional<OperatorGraph> {
        if (blocks.reentrant) {
          throw InvalidArgument(
              "--recompute reentrant: torch.compile does not trace reentrant "
              "checkpoints");
        }
        const std::vector<BlockRun> runs =
            FindBlockRuns(step, blocks, BlocksOf(blocks, level)).runs;
        if (runs.empty()) return std::nullopt;
        if (!spec.only.empty() && !AreCompiled(runs, FindRegions(step, spec))) {
          if (level > 0) return std::nullopt;
          throw InvalidArgument(
              "--recompute {}: a block is not inside of a module that {} "
              "compiles, expected checkpoints inside of these modules",
              recompute, ToString(spec));
        }
        const Checkpoints checkpoints = {blocks, BlocksOf(blocks, level)};
        return Compiler(spec, torch, &checkpoints).Compile(step, recorded);
      });
}

}  // namespace

OperatorGraph Compile(const OperatorGraph& graph, const RuntimeSpec& spec,
                      const TorchVersion& torch, const std::string& recompute) {
  if (!spec.only.empty() && spec.cuda_graphs) {
    throw InvalidArgument(
        "{}: CUDA graphs of single modules are not modelled, expected a mode "
        "without them",
        ToString(spec));
  }
  if (graph.info().mode == Mode::kInference) {
    return Compiler(spec, torch).Compile(graph, graph);
  }
  return recompute.empty()
             ? Compiler(spec, torch).Compile(ExposeSaved(graph), graph)
             : CompileWithCheckpoints(graph, spec, torch, recompute);
}

}  // namespace foretell::runtime
