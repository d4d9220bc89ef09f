#include "training/samples/join_labels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "datasets/store/label_graphs.h"
#include "src/features/terms.h"
#include "training/samples/label_filter.h"

namespace foretell::training {
namespace {

using learned::Target;

std::uint32_t IndexIn(const std::vector<std::string>& sorted,
                      const std::string& value) {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(sorted, value) -
                                    sorted.begin());
}

/// Whether the input made from a graph depends on how the graph is run.
bool DependsOnRun(const learned::InputRecipe& recipe) {
  const bool has_kernels =
      recipe.terms &&
      learned::LayoutOf(*recipe.terms).target == Target::kLatency;
  return has_kernels || recipe.node_costs;
}

Sample SampleOf(const StoredPoint& stored, const GraphSummary& graph) {
  return {.point = stored.id,
          .graph = graph.id,
          .num_nodes = graph.num_nodes,
          .model = stored.point.model,
          .family = stored.point.family,
          .batch = stored.point.batch,
          .macs = graph.statics.macs};
}

/// Points and graphs by their rows.
class LabelJoin {
 public:
  explicit LabelJoin(Selection& selection)
      : selection_(selection), label_graphs_(selection.dataset) {
    for (const StoredPoint& stored : selection.points) {
      points_.emplace(stored.id, &stored);
    }
    for (const GraphSummary& graph : selection.graphs) {
      graphs_.emplace(graph.id, &graph);
    }
  }

  /// False for a label that is left out.
  bool Add(const Label& label) {
    const StoredPoint& stored = *points_.at(label.point);
    const Run run = dataset::RunOfPoint(stored.point, label.setting);
    const auto graph = graphs_.find(label_graphs_.Of(stored, run));
    if (graph == graphs_.end() || graph->second->num_nodes == 0) {
      ++selection_.set.without_graph;
      return false;
    }
    Draft draft{.sample = SampleOf(stored, *graph->second),
                .label = &label,
                .graph = graph->second,
                .precision = stored.point.precision,
                .run = run};
    if (!TakeLabel(draft)) {
      ++selection_.set.without_figure;
      return false;
    }
    selection_.drafts.push_back(std::move(draft));
    return true;
  }

 private:
  /// False when no target has a figure.
  bool TakeLabel(Draft& draft) const {
    const SampleOptions& options = selection_.options;
    Sample& sample = draft.sample;
    sample.provenance = draft.label->provenance;
    if (sample.provenance == Provenance::kSimulated) {
      sample.weight = static_cast<float>(options.simulated_weight);
    }
    if (DependsOnRun(options.recipe)) sample.run = draft.run;
    const learned::TargetValues figures = FiguresOf(*draft.label);
    bool any = false;
    for (const Target target : options.targets) {
      ValueOf(sample.targets, target) = ValueOf(figures, target);
      any = any || learned::IsKnown(ValueOf(figures, target));
    }
    return any;
  }

  Selection& selection_;
  const dataset::LabelGraphs label_graphs_;
  std::map<RowId, const StoredPoint*> points_;
  std::map<RowId, const GraphSummary*> graphs_;
};

/// Weights that keep a source with many labels from deciding alone; their mean
/// over sources of equal size would be 1.
void BalanceSources(Selection& selection) {
  std::map<std::uint32_t, double> counts;
  for (const Draft& draft : selection.drafts) ++counts[draft.sample.source];
  const double typical = static_cast<double>(selection.drafts.size()) /
                         static_cast<double>(counts.size());
  for (Draft& draft : selection.drafts) {
    draft.sample.weight *=
        static_cast<float>(std::pow(typical / counts.at(draft.sample.source),
                                    selection.options.source_balance));
  }
}

}  // namespace

learned::TargetValues FiguresOf(const Label& label) {
  learned::TargetValues values = learned::kNoValues;
  const auto take = [&values](Target target, std::optional<double> figure) {
    if (figure && *figure > 0) ValueOf(values, target) = *figure;
  };
  take(Target::kMemory, label.memory_mib);
  take(Target::kLatency, label.latency_ms);
  take(Target::kEnergy, label.energy_j);
  return values;
}

void JoinLabels(Selection& selection) {
  const LabelFilter filter(selection.options, selection.labels);
  LabelJoin join(selection);
  std::set<std::string> devices;
  std::set<std::string> sources;
  std::set<std::string> settings;
  for (const Label& label : selection.labels) {
    if (!filter.Fits(label) || !join.Add(label)) continue;
    devices.insert(label.device);
    sources.insert(label.source);
    settings.insert(label.setting);
  }
  if (selection.drafts.empty()) {
    filter.FailEmpty(selection.dataset.path(), selection.set.without_graph);
  }
  SampleSet& set = selection.set;
  set.devices.assign(devices.begin(), devices.end());
  set.sources.assign(sources.begin(), sources.end());
  set.settings.assign(settings.begin(), settings.end());
  for (Draft& draft : selection.drafts) {
    draft.sample.device = IndexIn(set.devices, draft.label->device);
    draft.sample.setting = IndexIn(set.settings, draft.label->setting);
    draft.sample.source = IndexIn(set.sources, draft.label->source);
  }
  BalanceSources(selection);
}

}  // namespace foretell::training
