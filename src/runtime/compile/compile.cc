#include "src/runtime/compile/compile.h"

#include <optional>

#include "src/core/failure.h"
#include "src/graph/block_runs.h"
#include "src/graph/recompute_blocks.h"
#include "src/runtime/compile/concat_slices.h"
#include "src/runtime/compile/decompose.h"
#include "src/runtime/compile/fuse.h"
#include "src/runtime/compile/image_copies.h"
#include "src/runtime/compile/partition.h"
#include "src/runtime/compile/saved_results.h"
#include "src/runtime/compile/split_loops.h"

namespace foretell::runtime {

namespace {

OperatorGraph Fused(const OperatorGraph& primitives) {
  return Fuse(WriteConcatSlices(SplitLoops(CopyImages(primitives))));
}

/// The step of `primitives` with blocks computed again; empty if it runs none.
std::optional<OperatorGraph> Checkpointed(const OperatorGraph& primitives,
                                          const RecomputeSpec& spec,
                                          int level) {
  if (spec.reentrant) {
    throw InvalidArgument(
        "--recompute reentrant: torch.compile does not trace reentrant "
        "checkpoints");
  }
  const BlockRuns runs = FindBlockRuns(primitives, spec, BlocksOf(spec, level));
  if (runs.runs.empty()) return std::nullopt;
  return Fused(Partition(primitives, &runs));
}

}  // namespace

OperatorGraph Compile(const OperatorGraph& graph, const RuntimeSpec& spec,
                      const TorchVersion& torch, const std::string& recompute) {
  if (graph.info().mode == Mode::kInference) {
    return Fused(Decompose(graph, spec, torch));
  }
  const OperatorGraph primitives = Decompose(ExposeSaved(graph), spec, torch);
  if (recompute.empty()) return Fused(Partition(primitives));
  return ChooseBlocks(primitives, recompute,
                      [&](const RecomputeSpec& blocks, int level) {
                        return Checkpointed(primitives, blocks, level);
                      });
}

}  // namespace foretell::runtime
