#include "training/samples/sample_priors.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "src/core/failure.h"
#include "training/samples/join_labels.h"

namespace foretell::training {
namespace {

constexpr char kLabelPrior[] = "analytic";

void AddEstimates(Selection& selection) {
  const SampleOptions& options = selection.options;
  std::vector<PriorRequest> requests;
  for (Draft& draft : selection.drafts) {
    draft.run = RunAsLearned(draft.run, selection.set.recipe);
    requests.push_back({draft.sample.graph, draft.device, draft.run});
  }
  const std::map<PriorRequest, PriorFigures> estimates = EstimatePriors(
      selection.dataset.path(), *options.prior, requests, options.threads);
  for (Draft& draft : selection.drafts) {
    draft.prior = estimates.at({draft.sample.graph, draft.device, draft.run});
    draft.sample.prior = draft.prior.values;
  }
  selection.set.recipe.prior = options.prior->name;
}

void AddSimulatedLabels(Selection& selection) {
  std::map<std::pair<RowId, std::string_view>, learned::TargetValues> simulated;
  for (const Label& label : selection.labels) {
    if (label.provenance != Provenance::kSimulated) continue;
    simulated[{label.point, label.device}] = FiguresOf(label);
  }
  for (Draft& draft : selection.drafts) {
    const auto found =
        simulated.find({draft.sample.point, draft.label->device});
    if (found != simulated.end()) draft.sample.prior = found->second;
    draft.prior.values = draft.sample.prior;
  }
  selection.set.recipe.prior = kLabelPrior;
}

/// Masks the figures of a sample that its prior lacks; returns their number.
std::int64_t Mask(Sample& sample, const std::vector<learned::Target>& targets) {
  std::int64_t masked = 0;
  for (const learned::Target target : targets) {
    double& value = ValueOf(sample.targets, target);
    if (!learned::IsKnown(value)) continue;
    if (ValueOf(sample.prior, target) > 0) continue;
    value = learned::kUnknown;
    ++masked;
  }
  return masked;
}

bool HasFigure(const Draft& draft) {
  return std::ranges::any_of(draft.sample.targets, &learned::IsKnown);
}

}  // namespace

void AddPriors(Selection& selection) {
  if (selection.options.prior != nullptr) AddEstimates(selection);
  if (selection.options.prior_from_labels) AddSimulatedLabels(selection);
  if (selection.set.recipe.prior.empty()) return;
  for (Draft& draft : selection.drafts) {
    selection.set.without_prior +=
        Mask(draft.sample, selection.options.targets);
  }
  std::erase_if(selection.drafts, std::not_fn(&HasFigure));
  if (!selection.drafts.empty()) return;
  throw InvalidArgument("{}: the prior covers none of the labels",
                        selection.dataset.path());
}

}  // namespace foretell::training
