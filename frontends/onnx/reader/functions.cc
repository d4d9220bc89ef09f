#include "frontends/onnx/reader/functions.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "frontends/onnx/reader/text.h"
#include "src/core/failure.h"

// Functions that call functions can stand for exponentially many nodes in a few
// kilobytes. Their expanded sizes are therefore counted before they are
// expanded: callees first, each function once.

namespace foretell::onnx {
namespace {

// Nodes of a body with all subgraphs, and calls (a callee may repeat).
struct Body {
  std::int64_t num_nodes = 0;
  std::vector<std::size_t> callees;
};

struct Expanded {
  std::int64_t num_nodes = 0;
  int call_depth = 0;
};

void AddNodes(std::span<const Node> nodes, const FunctionIndex& index,
              Body& body) {
  for (const Node& node : nodes) {
    ++body.num_nodes;
    if (const auto callee = index.Find(node)) body.callees.push_back(*callee);
    for (const Attribute& attribute : node.attributes) {
      for (const std::shared_ptr<const Graph>& graph : attribute.graphs) {
        AddNodes(graph->nodes, index, body);
      }
    }
  }
}

Expanded Expand(const Body& body, std::span<const Expanded> functions) {
  Expanded expanded = {body.num_nodes, 0};
  for (const std::size_t callee : body.callees) {
    expanded.num_nodes =
        std::min(expanded.num_nodes + functions[callee].num_nodes,
                 kMaxExpandedNodes + 1);
    expanded.call_depth =
        std::max(expanded.call_depth, functions[callee].call_depth + 1);
  }
  return expanded;
}

void CheckLimits(const Expanded& expanded, const std::string& what) {
  if (expanded.num_nodes > kMaxExpandedNodes) {
    throw Unsupported("{} expands to more than {} nodes", what,
                      kMaxExpandedNodes);
  }
  if (expanded.call_depth > kMaxCallDepth) {
    throw Unsupported(
        "{} has functions that call each other {} deep, at most {} are "
        "supported",
        what, expanded.call_depth, kMaxCallDepth);
  }
}

// Callees before callers; what is left over is on or above a cycle.
std::vector<Expanded> ExpandFunctions(const Model& model,
                                      std::span<const Body> bodies) {
  std::vector<std::vector<std::size_t>> callers(bodies.size());
  std::vector<std::size_t> waiting(bodies.size());
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    waiting[i] = bodies[i].callees.size();
    if (waiting[i] == 0) ready.push_back(i);
    for (const std::size_t callee : bodies[i].callees) {
      callers[callee].push_back(i);
    }
  }
  std::vector<Expanded> expanded(bodies.size());
  for (std::size_t done = 0; done < ready.size(); ++done) {
    const std::size_t i = ready[done];
    expanded[i] = Expand(bodies[i], expanded);
    CheckLimits(expanded[i], "function " + Quoted(model.functions[i].name));
    for (const std::size_t caller : callers[i]) {
      if (--waiting[caller] == 0) ready.push_back(caller);
    }
  }
  if (ready.size() == bodies.size()) return expanded;
  const auto stuck = std::find_if(waiting.begin(), waiting.end(),
                                  [](std::size_t count) { return count > 0; });
  throw Corrupt(
      "function {} calls itself or functions that call each other in turn",
      Quoted(model.functions[static_cast<std::size_t>(stuck - waiting.begin())]
                 .name));
}

}  // namespace

FunctionIndex::FunctionIndex(const Model& model) {
  for (const Function& function : model.functions) {
    const Key key = {function.domain, function.name, function.overload};
    if (!places_.emplace(key, places_.size()).second) {
      throw Corrupt("function {} of domain {} is defined twice",
                    Quoted(function.name), Quoted(function.domain));
    }
  }
}

std::optional<std::size_t> FunctionIndex::Find(const Node& node) const {
  const auto found = places_.find({node.domain, node.op_type, node.overload});
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

void CheckFunctions(const Model& model) {
  const FunctionIndex index(model);
  std::vector<Body> bodies(model.functions.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    AddNodes(model.functions[i].nodes, index, bodies[i]);
  }
  const std::vector<Expanded> functions = ExpandFunctions(model, bodies);
  Body main;
  AddNodes(model.graph.nodes, index, main);
  CheckLimits(Expand(main, functions), "the graph");
}

}  // namespace foretell::onnx
