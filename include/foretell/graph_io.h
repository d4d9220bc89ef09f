#pragma once

#include <string>
#include <string_view>

#include "foretell/graph.h"

namespace foretell {

struct GraphTextOptions {
  bool with_timeline = false;  ///< Print every allocation and free.
};

/// Text form of a graph, one line per tensor or operator; docs/graph_text.md
/// is its grammar.
///
///     graph "toy" mode=inference precision=fp32 batch=8 parameters=36864
///     %x = input f32[8,64,56,56]
///     %w = parameter f32[64,64,3,3]
///     %a = conv2d(%x, %w) {stride=[1, 1], padding=[1, 1]} : f32[8,64,56,56]
///     %v = view(%a) {size=[8, 200704]} : f32[8,200704] alias %a
///     output %v
std::string PrintGraph(const OperatorGraph& graph,
                       const GraphTextOptions& options = {});

/// Inverse of PrintGraph. Without a `timeline` section lifetimes are derived
/// (GraphBuilder::DeriveLifetimes). Throws Error(kCorrupt) that names `origin`,
/// the line and the column.
OperatorGraph ParseGraph(std::string_view text,
                         std::string_view origin = "graph");

/// JSON document of the graph with all attributes and edges (schema in
/// docs/graph_text.md).
std::string GraphToJson(const OperatorGraph& graph);

/// Graphviz digraph: a box per operator, an edge per data flow.
std::string GraphToDot(const OperatorGraph& graph);

}  // namespace foretell
