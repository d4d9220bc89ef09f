#pragma once

#include <span>
#include <vector>

#include "foretell/device.h"
#include "foretell/features.h"
#include "foretell/graph.h"
#include "foretell/run.h"
#include "src/features/input_recipe.h"
#include "src/features/node_costs.h"
#include "src/features/terms.h"
#include "src/network/graph_batch.h"

namespace foretell::learned {

/// A graph as input of networks, without the columns: what the recipe asks for,
/// the rest empty.
struct NetworkInput {
  GraphFeatures features;
  NodeCosts costs;
  TermTable terms;
};

/// Where MakeInput gets a graph from. Only what a recipe asks for is read.
class GraphSource {
 public:
  virtual ~GraphSource() = default;
  virtual const OperatorGraph& Graph() = 0;
  virtual GraphFeatures Features() = 0;
};

/// A graph that is there, and outlives this.
class TracedGraph : public GraphSource {
 public:
  explicit TracedGraph(const OperatorGraph& graph) : graph_(graph) {}
  const OperatorGraph& Graph() override { return graph_; }
  GraphFeatures Features() override { return ExtractFeatures(graph_); }

 private:
  const OperatorGraph& graph_;
};

/// On what and how a graph is run.
struct InputSubject {
  const DeviceSpec* device = nullptr;  ///< For terms and costs of nodes.
  Run run = {};                        ///< For terms of kernels and costs.
  ContextModel context = {};           ///< The recipe's; for terms of memory.
};

/// What a network with this recipe sees of the graph. Throws what reading the
/// graph, NodeCostsOf and MakeTerms throw.
NetworkInput MakeInput(GraphSource& graph, const InputSubject& subject,
                       const InputRecipe& recipe);

/// The recipe's columns of a graph, before scaling. Throws what RawInput
/// throws.
std::vector<double> MakeColumns(const InputSource& source,
                                const InputRecipe& recipe);
/// Scales what MakeColumns made.
std::vector<float> ScaleColumns(std::span<const double> raw,
                                const InputRecipe& recipe);

/// One graph for a batch; what it refers to must live until it is collated.
struct InputRow {
  const NetworkInput* input = nullptr;
  std::span<const float> columns;  ///< Scaled.
};
/// Throws what Collate and CollateTerms throw.
GraphBatch CollateInputs(std::span<const InputRow> rows,
                         const InputRecipe& recipe);

}  // namespace foretell::learned
