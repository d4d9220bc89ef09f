#pragma once

#include <string>

#include "foretell/graph_io.h"
#include "src/runtime/compile/decompose.h"
#include "src/runtime/compile/fuse.h"

namespace foretell::runtime {

/// The kernels of a step whose graph has these lines.
inline OperatorGraph Fused(const std::string& body) {
  return Fuse(Decompose(ParseGraph("graph \"g\"\n" + body),
                        {.runtime = Runtime::kCompile}, kFusedScatters));
}

}  // namespace foretell::runtime
