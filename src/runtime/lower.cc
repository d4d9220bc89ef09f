#include "src/runtime/lower.h"

#include "src/runtime/compile/compile.h"
#include "src/runtime/onnxruntime/optimize.h"
#include "src/runtime/tensorrt/build_engine.h"

namespace foretell::runtime {

OperatorGraph Lower(const OperatorGraph& graph, const RuntimeSpec& spec,
                    const TorchVersion& torch, const std::string& recompute) {
  switch (spec.runtime) {
    case Runtime::kEager:
      break;
    case Runtime::kCompile:
      return Compile(graph, spec, torch, recompute);
    case Runtime::kOnnxRuntime:
      return OptimizeForOnnxRuntime(graph, spec);
    case Runtime::kTensorRt:
      return BuildEngine(graph, spec);
  }
  return graph;
}

}  // namespace foretell::runtime
