#include "src/runtime/tensorrt/build_engine.h"

#include "foretell/error.h"
#include "src/runtime/tensorrt/plan_layers.h"
#include "src/runtime/tensorrt/write_engine.h"

namespace foretell::runtime {

OperatorGraph BuildEngine(const OperatorGraph& graph, const RuntimeSpec& spec) {
  if (graph.info().mode == Mode::kTraining) {
    throw Error(ErrorCode::kInvalidArgument,
                "--runtime tensorrt: an engine does not train; expected "
                "--mode inference");
  }
  return WriteEngine(graph, PlanLayers(graph), spec);
}

}  // namespace foretell::runtime
