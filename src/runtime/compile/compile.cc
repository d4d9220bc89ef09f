#include "src/runtime/compile/compile.h"

#include "src/runtime/compile/decompose.h"
#include "src/runtime/compile/fuse.h"

namespace foretell::runtime {

OperatorGraph Compile(const OperatorGraph& graph, const RuntimeSpec& spec) {
  return Fuse(Decompose(graph, spec));
}

}  // namespace foretell::runtime
