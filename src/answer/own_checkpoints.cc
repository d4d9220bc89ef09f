#include "src/answer/own_checkpoints.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "foretell/error.h"
#include "src/answer/learned_figure.h"
#include "src/answer/predict_graph.h"
#include "src/core/text.h"
#include "src/graph/setting.h"

namespace foretell::learned {
namespace {

void RefuseOtherPriors(const CheckpointInfo& info, const std::string& path) {
  if (info.recipe.prior.empty() || info.recipe.prior == "analytic") return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}: corrects the prior '{}'; predict makes the "
                          "prior 'analytic' alone",
                          path, info.recipe.prior));
}

/// Remembers which file predicts what; throws if two predict the same.
void Claim(const CheckpointInfo& info, const std::string& path,
           std::map<Target, std::string>& claims) {
  for (const CheckpointTarget& output : info.targets) {
    const Target target = output.scale.target;
    const auto [first, is_new] = claims.emplace(target, path);
    if (is_new) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} and {} both predict {}", path, first->second,
                            TargetName(target)));
  }
}

/// Those of `keys` that a run does not state.
std::vector<std::string> Missing(const std::vector<std::string>& keys,
                                 const Run& run) {
  const Setting setting(run);
  std::vector<std::string> missing;
  for (const std::string& key : keys) {
    if (setting.ValueOf(key).empty()) missing.push_back(key);
  }
  return missing;
}

/// Warns of settings of the labels that the network or the run does not state.
void WarnOfSettings(const InputRecipe& recipe, const std::string& path,
                    const Run& run, std::vector<std::string>& warnings) {
  const std::vector<std::string> keys = recipe.SettingKeys();
  if (run.grad_mode && std::ranges::find(keys, "grad_mode") == keys.end()) {
    warnings.push_back(path +
                       " does not tell runs in grad mode from those under "
                       "no_grad");
  }
  const std::vector<std::string> unknown = Missing(keys, run);
  if (unknown.empty()) return;
  warnings.push_back(fmt::format(
      "{} saw {} of its labels' settings; of this run it is not known", path,
      Joined(unknown)));
}

}  // namespace

OwnCheckpoints::OwnCheckpoints(const std::vector<std::string>& paths,
                               const DeviceCatalog& catalog) {
  std::map<Target, std::string> claims;
  for (const std::string& path : paths) {
    LearnedModel learned = LearnedModel::Load(path);
    RefuseOtherPriors(learned.info(), path);
    Claim(learned.info(), path, claims);
    const std::string& context = learned.info().recipe.context;
    ContextModel found = context.empty() ? catalog.DefaultContext()
                                         : catalog.FindContext(context);
    const std::optional<TermDrift> drift = learned.info().Drift();
    models_.push_back({path, std::move(learned), std::move(found),
                       drift && drift->IsLarge()});
  }
}

void OwnCheckpoints::Improve(const LearnedRequest& request,
                             Prediction& prediction) const {
  if (request.graph.nodes().empty()) return;
  for (const Own& own : models_) ImproveBy(own, request, prediction);
}

void OwnCheckpoints::ImproveBy(const Own& own, const LearnedRequest& request,
                               Prediction& prediction) {
  const std::vector<LearnedFigure> figures = PredictGraph(
      own.learned, request.graph, {&request.device, request.run, own.context});
  for (const LearnedFigure& figure : figures) {
    RefuseImplausible(figure, own.path);
    if (!TakeFigure(figure, request, prediction)) continue;
    WarnOf(figure, request.device, prediction[figure.target].warnings);
  }
  if (request.graph.info().autocast && !own.learned.info().recipe.terms) {
    prediction.warnings.push_back(
        own.path +
        " saw operators of networks in 16 bits; here it sees the "
        "casts of autocast among them");
  }
  if (own.has_drifted) {
    prediction.warnings.push_back(
        own.path +
        " was trained on other terms than this foretell makes of a graph: "
        "train it again");
  }
  WarnOfSettings(own.learned.info().recipe, own.path, request.run,
                 prediction.warnings);
}

}  // namespace foretell::learned
