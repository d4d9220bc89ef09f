#include "tests/parallel/step_files.h"

#include "foretell/graph_io.h"
#include "foretell/parallel.h"
#include "src/core/files.h"

namespace foretell::parallel_test {
namespace {

/// The optimizer adds gradients to momenta, then momenta to parameters.
std::vector<parallel::TrainedParameter> TrainedIn(const OperatorGraph& graph) {
  std::vector<const Node*> additions;
  for (const Node& node : graph.nodes()) {
    if (node.target == "_foreach_add_") additions.push_back(&node);
  }
  const Node& momenta = *additions.at(0);
  const Node& parameters = *additions.at(1);
  std::vector<parallel::TrainedParameter> trained;
  const std::size_t count = parameters.outputs.size();
  for (std::size_t i = 0; i < count; ++i) {
    trained.push_back(
        {.parameter = graph.value(parameters.inputs.at(i)).storage,
         .gradient = graph.value(momenta.inputs.at(count + i)).storage});
  }
  return trained;
}

}  // namespace

OperatorGraph RealStep::Under(const std::string& plan) const {
  if (plan.empty()) return parallel::Parallelize(graph, {}, trained);
  return parallel::Parallelize(graph, ParseParallel("plan", plan), trained);
}

RealStep ReadStep(const std::string& network) {
  const std::string path =
      FORETELL_SOURCE_DIR "/tests/golden/parallel/" + network + ".graph";
  OperatorGraph graph = ParseGraph(ReadText(path), path);
  std::vector<parallel::TrainedParameter> trained = TrainedIn(graph);
  return {std::move(graph), std::move(trained)};
}

}  // namespace foretell::parallel_test
