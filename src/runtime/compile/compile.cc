#include "src/runtime/compile/compile.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "src/core/failure.h"
#include "src/graph/block_runs.h"
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

  OperatorGraph Compile(const OperatorGraph& step) const {
    if (spec_.breaks.empty()) return CompileRegion(step);
    const std::vector<int> region_of = FindRegions(step, spec_.breaks);
    std::vector<Region> regions;
    for (int i = 0; i <= std::ranges::max(region_of); ++i) {
      Region region = CutRegion(step, region_of, i);
      region.graph = CompileRegion(region.graph);
      regions.push_back(std::move(region));
    }
    return JoinRegions(step, regions);
  }

 private:
  OperatorGraph CompileRegion(const OperatorGraph& graph) const {
    OperatorGraph primitives = Decompose(graph, spec_, torch_);
    const bool trains = graph.info().mode == Mode::kTraining;
    if (trains) primitives = Partitioned(primitives);
    OperatorGraph laid_out = CopyImages(primitives);
    if (!trains && spec_.freezing != Freezing::kOff) {
      laid_out = Freeze(laid_out);
    }
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

OperatorGraph CompileWithCheckpoints(const OperatorGraph& step,
                                     const RuntimeSpec& spec,
                                     const TorchVersion& torch,
                                     const std::string& recompute) {
  return ChooseBlocks(
      step, recompute,
      [&](const RecomputeSpec& blocks,
          int level) -> std::optional<OperatorGraph> {
        if (blocks.reentrant) {
          throw InvalidArgument(
              "--recompute reentrant: torch.compile does not trace reentrant "
              "checkpoints");
        }
        if (FindBlockRuns(step, blocks, BlocksOf(blocks, level)).runs.empty()) {
          return std::nullopt;
        }
        const Checkpoints checkpoints = {blocks, BlocksOf(blocks, level)};
        return Compiler(spec, torch, &checkpoints).Compile(step);
      });
}

}  // namespace

OperatorGraph Compile(const OperatorGraph& graph, const RuntimeSpec& spec,
                      const TorchVersion& torch, const std::string& recompute) {
  if (graph.info().mode == Mode::kInference) {
    return Compiler(spec, torch).Compile(graph);
  }
  const OperatorGraph step = ExposeSaved(graph);
  return recompute.empty()
             ? Compiler(spec, torch).Compile(step)
             : CompileWithCheckpoints(step, spec, torch, recompute);
}

}  // namespace foretell::runtime
