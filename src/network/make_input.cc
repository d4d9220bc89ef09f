#include "src/network/make_input.h"

#include <algorithm>

#include "src/network/term_batch.h"

namespace foretell::learned {
namespace {

/// The edges that the recipe asks for, between the first `num_nodes` nodes.
void FollowEdges(EdgeKind kind, std::int64_t num_nodes,
                 std::vector<std::int64_t>& sources,
                 std::vector<std::int64_t>& targets) {
  if (kind == EdgeKind::kDataFlow) return;
  sources.clear();
  targets.clear();
  if (kind == EdgeKind::kNone) return;
  for (std::int64_t i = 1; i < num_nodes; ++i) {
    sources.push_back(i - 1);
    targets.push_back(i);
  }
}

/// Joins terms of a set with edges; plain terms have no neighbours.
void FollowEdges(const InputRecipe& recipe, TermTable& terms) {
  const TermLayout layout = LayoutOf(*recipe.terms);
  if (!layout.has_edges) return;
  const auto first_plain =
      std::ranges::find_if(terms.classes, [&layout](std::int32_t term_class) {
        return term_class >= layout.first_plain_class;
      });
  FollowEdges(recipe.edges, first_plain - terms.classes.begin(), terms.sources,
              terms.targets);
}

}  // namespace

NetworkInput MakeInput(GraphSource& graph, const InputSubject& subject,
                       const InputRecipe& recipe) {
  NetworkInput input;
  if (recipe.terms) {
    const Run run = RunAsLearned(subject.run, recipe);
    input.terms = MakeTerms(*recipe.terms, graph.Graph(),
                            {*subject.device, run, subject.context});
    FollowEdges(recipe, input.terms);
    return input;
  }
  input.features = graph.Features();
  FollowEdges(recipe.edges, std::ssize(input.features.nodes),
              input.features.sources, input.features.targets);
  if (recipe.node_costs) {
    input.costs = NodeCostsOf(graph.Graph(), *subject.device,
                              {.run = RunAsLearned(subject.run, recipe)});
  }
  return input;
}

std::vector<double> MakeColumns(const InputSource& source,
                                const InputRecipe& recipe) {
  std::vector<double> raw;
  for (const InputColumn& column : recipe.columns) {
    raw.push_back(RawInput(column.key, source));
  }
  return raw;
}

std::vector<float> ScaleColumns(std::span<const double> raw,
                                const InputRecipe& recipe) {
  std::vector<float> scaled;
  for (std::size_t i = 0; i < recipe.columns.size(); ++i) {
    scaled.push_back(ScaleInput(recipe.columns[i], raw[i]));
  }
  return scaled;
}

GraphBatch CollateInputs(std::span<const InputRow> rows,
                         const InputRecipe& recipe) {
  if (recipe.terms) {
    std::vector<TermInput> tables;
    for (const InputRow& row : rows) {
      tables.push_back({&row.input->terms, row.columns});
    }
    return CollateTerms(tables, *recipe.terms);
  }
  std::vector<GraphInput> graphs;
  for (const InputRow& row : rows) {
    graphs.push_back({&row.input->features, row.columns,
                      row.input->costs.columns, row.input->costs.shares});
  }
  return Collate(graphs);
}

}  // namespace foretell::learned
