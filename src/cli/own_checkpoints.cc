#include "src/cli/own_checkpoints.h"

#include <map>
#include <utility>

#include "foretell/error.h"
#include "src/cli/analytic_prior.h"
#include "src/core/text.h"
#include "src/model/input_columns.h"
#include "src/model/predict_graph.h"

namespace foretell::cli {
namespace {

void RefuseOtherPriors(const model::CheckpointInfo& info,
                       const std::string& path) {
  if (info.prior.empty() || info.prior == "analytic") return;
  throw Error(ErrorCode::kInvalidArgument,
              path + ": corrects the prior '" + info.prior +
                  "'; predict makes the prior 'analytic' alone");
}

/// Those of `keys` that the environment of a run does not have.
std::vector<std::string> Missing(const std::vector<std::string>& keys,
                                 const std::string& label_environment) {
  std::vector<std::string> missing;
  for (const std::string& key : keys) {
    if (model::EnvironmentValue(label_environment, key).empty()) {
      missing.push_back(key);
    }
  }
  return missing;
}

}  // namespace

OwnCheckpoints::OwnCheckpoints(const std::vector<std::string>& paths,
                               const DeviceCatalog& catalog) {
  std::map<model::Target, std::string> seen;
  for (const std::string& path : paths) {
    Own own{.path = path, .learned = model::LearnedModel::Load(path)};
    const model::CheckpointInfo& info = own.learned.info();
    RefuseOtherPriors(info, path);
    for (const model::CheckpointTarget& output : info.targets) {
      const model::Target target = output.scale.target;
      const auto [first, is_new] = seen.emplace(target, path);
      if (is_new) continue;
      throw Error(ErrorCode::kInvalidArgument,
                  path + " and " + first->second + " both predict " +
                      std::string(TargetName(target)));
    }
    own.as_trained.Follow(info);
    const std::string& environment = own.as_trained.environment;
    own.environment = environment.empty()
                          ? catalog.DefaultEnvironment()
                          : catalog.FindEnvironment(environment);
    models_.push_back(std::move(own));
  }
}

void OwnCheckpoints::Improve(const OperatorGraph& graph,
                             const model::LearnedRequest& request,
                             const std::string& label_environment,
                             Prediction& prediction) const {
  if (graph.nodes().empty()) return;
  for (const Own& own : models_) {
    const std::string& host = own.as_trained.host;
    training::PriorFigures prior;
    if (!own.learned.info().prior.empty()) {
      prior =
          AnalyticPrior(own.environment, host).estimate(graph, request.device);
    }
    const std::vector<model::LearnedFigure> figures =
        PredictGraph(own.learned, graph,
                     {.device = &request.device,
                      .environment = &own.environment,
                      .mode = request.mode,
                      .cost = CostOptionsOf(host),
                      .chain = own.as_trained.IsChain(),
                      .prior = prior.values,
                      .prior_figures = &prior.figures,
                      .label_environment = label_environment});
    for (const model::LearnedFigure& figure : figures) {
      PutFigure(figure, prediction);
      WarnOf(figure, request.device, prediction.warnings);
    }
    const std::vector<std::string> unknown =
        Missing(own.as_trained.environment_keys, label_environment);
    if (unknown.empty()) continue;
    prediction.warnings.push_back(own.path + " saw " + Joined(unknown) +
                                  " of its labels' environments; of this run "
                                  "it is not known");
  }
}

}  // namespace foretell::cli
