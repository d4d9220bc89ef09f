#include "src/cli/own_checkpoints.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "foretell/error.h"
#include "src/cli/analytic_prior.h"
#include "src/cli/sample_flags.h"
#include "src/core/text.h"
#include "src/model/input_columns.h"
#include "src/model/predict_graph.h"

namespace foretell::cli {
namespace {

constexpr std::string_view kEnvironmentPrefix = "environment.";

void RefuseOtherPriors(const model::CheckpointInfo& info,
                       const std::string& path) {
  if (info.prior.empty() || info.prior == "analytic") return;
  throw Error(ErrorCode::kInvalidArgument,
              path + ": corrects the prior '" + info.prior +
                  "'; predict makes the prior 'analytic' alone");
}

/// Keys of labels' environments that the network sees and a run does not have.
std::vector<std::string> UnknownKeys(const model::CheckpointInfo& info,
                                     const std::string& label_environment) {
  std::set<std::string> unknown;
  for (const model::InputColumn& input : info.inputs) {
    if (!input.name.starts_with(kEnvironmentPrefix)) continue;
    const std::string key =
        input.name.substr(kEnvironmentPrefix.size(),
                          input.name.find('=') - kEnvironmentPrefix.size());
    if (model::EnvironmentValue(label_environment, key).empty()) {
      unknown.insert(key);
    }
  }
  return {unknown.begin(), unknown.end()};
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
    SampleFlags as_trained;
    as_trained.Follow(info);
    own.host = as_trained.host;
    own.environment = as_trained.environment.empty()
                          ? catalog.DefaultEnvironment()
                          : catalog.FindEnvironment(as_trained.environment);
    own.is_chain = as_trained.IsChain();
    models_.push_back(std::move(own));
  }
}

void OwnCheckpoints::Improve(const OperatorGraph& graph,
                             const model::LearnedRequest& request,
                             const std::string& label_environment,
                             Prediction& prediction) const {
  for (const Own& own : models_) {
    const model::CheckpointInfo& info = own.learned.info();
    const training::PriorFigures prior =
        AnalyticPrior(own.environment, own.host)
            .estimate(graph, request.device);
    const std::vector<model::LearnedFigure> figures =
        PredictGraph(own.learned, graph,
                     {.device = &request.device,
                      .environment = &own.environment,
                      .mode = request.mode,
                      .cost = CostOptionsOf(own.host),
                      .chain = own.is_chain,
                      .prior = prior.values,
                      .prior_figures = &prior.figures,
                      .label_environment = label_environment});
    for (const model::LearnedFigure& figure : figures) {
      PutFigure(figure, prediction);
      WarnOf(figure, request.device, prediction.warnings);
    }
    const std::vector<std::string> unknown =
        UnknownKeys(info, label_environment);
    if (unknown.empty()) continue;
    prediction.warnings.push_back(own.path + " saw " + Joined(unknown) +
                                  " of its labels' environments; of this run "
                                  "it is not known");
  }
}

}  // namespace foretell::cli
