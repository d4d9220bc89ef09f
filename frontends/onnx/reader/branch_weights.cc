#include "frontends/onnx/reader/branch_weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "frontends/onnx/reader/constants.h"

namespace foretell::onnx {
namespace {

/// Calls `visit` for `graph` and all graphs inside.
template <typename Visit>
void VisitGraphs(const Graph& graph, const Visit& visit) {
  visit(graph);
  for (const Node& node : graph.nodes) {
    for (const Attribute& attribute : node.attributes) {
      for (const auto& body : attribute.graphs) VisitGraphs(*body, visit);
    }
  }
}

class BranchLifter {
 public:
  explicit BranchLifter(Graph& main) : main_(main) {
    VisitGraphs(main, [this](const Graph& graph) {
      for (const ValueInfo& input : graph.inputs) ++uses_[input.name];
      for (const TensorLiteral& literal : graph.initializers) {
        ++uses_[literal.name];
      }
      for (const Node& node : graph.nodes) {
        for (const std::string& output : node.outputs) ++uses_[output];
      }
      lifts_nodes_ = lifts_nodes_ && !HasMatrix(graph);
    });
  }

  void LiftFrom(std::vector<Node>& nodes) {
    for (Node& node : nodes) {
      for (Attribute& attribute : node.attributes) {
        for (std::shared_ptr<const Graph>& graph : attribute.graphs) {
          Graph body = *graph;
          Lift(body);
          LiftFrom(body.nodes);
          graph = std::make_shared<const Graph>(std::move(body));
        }
      }
    }
  }

 private:
  using Names = std::map<std::string, std::string>;

  void Lift(Graph& body) {
    Names renamed;
    std::erase_if(body.initializers, [&](const TensorLiteral& literal) {
      if (!MayBeWeight(literal, literal.name, body)) return false;
      Add(literal, literal.name, renamed);
      return true;
    });
    if (lifts_nodes_) {
      std::erase_if(body.nodes, [&](const Node& node) {
        const TensorLiteral* const weight = WeightOf(node, body);
        if (weight != nullptr) Add(*weight, node.outputs.front(), renamed);
        return weight != nullptr;
      });
    }
    if (!renamed.empty()) Rename(body.nodes, renamed);
  }

  void Add(const TensorLiteral& literal, const std::string& name,
           Names& renamed) {
    std::string free = name;
    if (uses_[name] > 1) {
      for (int i = 1; uses_.contains(free); ++i) {
        free = fmt::format("{}_{}", name, i);
      }
      ++uses_[free];
      renamed[name] = free;
    }
    main_.initializers.push_back(literal);
    main_.initializers.back().name = std::move(free);
  }

  /// Lets `nodes`, and the bodies inside, read the new names.
  static void Rename(std::vector<Node>& nodes, const Names& renamed) {
    for (Node& node : nodes) {
      for (std::string& input : node.inputs) {
        const auto found = renamed.find(input);
        if (found != renamed.end()) input = found->second;
      }
      for (Attribute& attribute : node.attributes) {
        for (std::shared_ptr<const Graph>& graph : attribute.graphs) {
          Graph body = *graph;
          Rename(body.nodes, renamed);
          graph = std::make_shared<const Graph>(std::move(body));
        }
      }
    }
  }

  Graph& main_;
  bool lifts_nodes_ = true;
  std::map<std::string, int> uses_;  ///< Definitions by name.
};

}  // namespace

void LiftBranchWeights(Graph& graph) {
  BranchLifter(graph).LiftFrom(graph.nodes);
}

}  // namespace foretell::onnx
