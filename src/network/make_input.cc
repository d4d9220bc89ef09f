#include "src/network/make_input.h"

#include "src/network/term_batch.h"

namespace foretell::learned {

NetworkInput MakeInput(GraphSource& graph, const InputSubject& subject,
                       const InputRecipe& recipe) {
  NetworkInput input;
  if (recipe.terms) {
    const Run run = RunAsLearned(subject.run, recipe);
    input.terms = MakeTerms(*recipe.terms, graph.Graph(),
                            {*subject.device, run, subject.context});
    return input;
  }
  input.features = graph.Features();
  if (recipe.edges == EdgeKind::kChain) JoinAsChain(input.features);
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
