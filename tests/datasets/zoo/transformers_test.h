#pragma once

#include <string>

#include "foretell/trace.h"
#include "foretell/zoo.h"

namespace foretell {

/// The trace of network `name` at `batch`.
inline Trace TraceZoo(const std::string& name, std::int64_t batch,
                      const TraceOptions& options = {}) {
  const Program program = zoo::Load(name);
  return TraceProgram(
      program, BindInputs(program.inputs(), {.batch = batch}, program.name()),
      options);
}

/// Multiply-accumulates of the nodes of `kind` in the forward pass.
inline std::int64_t MacsOf(const OperatorGraph& graph, OpKind kind) {
  std::int64_t macs = 0;
  for (const Node& node : graph.nodes()) {
    if (node.kind == kind && node.phase == Phase::kForward) macs += node.macs;
  }
  return macs;
}

/// Nodes of `kind` in the forward pass.
inline std::int64_t CountOf(const OperatorGraph& graph, OpKind kind) {
  std::int64_t count = 0;
  for (const Node& node : graph.nodes()) {
    if (node.kind == kind && node.phase == Phase::kForward) ++count;
  }
  return count;
}

}  // namespace foretell
