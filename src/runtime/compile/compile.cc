#include "src/runtime/compile/compile.h"

#include "src/runtime/compile/concat_slices.h"
#include "src/runtime/compile/decompose.h"
#include "src/runtime/compile/fuse.h"
#include "src/runtime/compile/image_copies.h"
#include "src/runtime/compile/partition.h"
#include "src/runtime/compile/saved_results.h"
#include "src/runtime/compile/split_loops.h"

namespace foretell::runtime {

OperatorGraph Compile(const OperatorGraph& graph, const RuntimeSpec& spec,
                      const TorchVersion& torch) {
  if (graph.info().mode == Mode::kInference) {
    return Fuse(WriteConcatSlices(
        SplitLoops(CopyImages(Decompose(graph, spec, torch)))));
  }
  return Fuse(WriteConcatSlices(SplitLoops(
      CopyImages(Partition(Decompose(ExposeSaved(graph), spec, torch))))));
}

}  // namespace foretell::runtime
