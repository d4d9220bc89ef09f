#include "src/runtime/compile/compile.h"

#include <algorithm>
#include <utility>
#include <vector>

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

OperatorGraph CompileRegion(const OperatorGraph& graph, const RuntimeSpec& spec,
                            const TorchVersion& torch) {
  OperatorGraph primitives = Decompose(graph, spec, torch);
  const bool trains = graph.info().mode == Mode::kTraining;
  if (trains) primitives = Partition(primitives);
  OperatorGraph laid_out = CopyImages(primitives);
  if (!trains && spec.freezing != Freezing::kOff) laid_out = Freeze(laid_out);
  return Fuse(WriteConcatSlices(SplitLoops(laid_out)));
}

OperatorGraph CompileStep(const OperatorGraph& step, const RuntimeSpec& spec,
                          const TorchVersion& torch) {
  if (spec.breaks.empty()) return CompileRegion(step, spec, torch);
  const std::vector<int> region_of = FindRegions(step, spec.breaks);
  std::vector<Region> regions;
  for (int i = 0; i <= std::ranges::max(region_of); ++i) {
    Region region = CutRegion(step, region_of, i);
    region.graph = CompileRegion(region.graph, spec, torch);
    regions.push_back(std::move(region));
  }
  return JoinRegions(step, regions);
}

}  // namespace

OperatorGraph Compile(const OperatorGraph& graph, const RuntimeSpec& spec,
                      const TorchVersion& torch) {
  return graph.info().mode == Mode::kInference
             ? CompileStep(graph, spec, torch)
             : CompileStep(ExposeSaved(graph), spec, torch);
}

}  // namespace foretell::runtime
