#pragma once

#include <string>
#include <utility>
#include <vector>

#include "foretell/trace.h"
#include "frontends/onnx/onnx_program.h"
#include "tests/frontends/onnx_model_builder.h"

/// Small models of one graph, and their traces.
namespace foretell::onnx {

/// x [batch, 16] → nodes → y.
inline Graph GraphOf(std::vector<Node> nodes,
                     std::vector<TensorLiteral> initializers,
                     std::string output = "y") {
  Graph graph;
  graph.name = "main";
  graph.inputs = {FloatValue("x", {Symbol("batch"), Fixed(16)})};
  graph.nodes = std::move(nodes);
  graph.initializers = std::move(initializers);
  graph.outputs = {AnyValue(std::move(output))};
  return graph;
}

/// At batch 4.
inline Trace TraceOf(Model model, const TraceOptions& options = {}) {
  const Program program = MakeProgram(std::move(model));
  InputRequest request;
  request.batch = 4;
  return TraceProgram(
      program, BindInputs(program.inputs(), request, program.name()), options);
}

/// At the batch that the file gives.
inline Trace TraceAsGiven(Model model) {
  const Program program = MakeProgram(std::move(model));
  return TraceProgram(program,
                      BindInputs(program.inputs(), {}, program.name()));
}

/// Type of the first output, e.g. "f32[4,16]".
inline std::string OutputOf(const Trace& trace) {
  return ToString(trace.outputs.at(0).type);
}

/// A graph of one node, for an If.
inline Graph Branch(Node node) {
  Graph branch;
  branch.outputs = {AnyValue(node.outputs.front())};
  branch.nodes = {std::move(node)};
  return branch;
}

}  // namespace foretell::onnx
