#include "training/samples/samples.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "datasets/views/split.h"
#include "foretell/error.h"
#include "src/core/text.h"
#include "src/graph/setting.h"
#include "src/network/make_input.h"

namespace foretell::training {
namespace {

using learned::Target;

constexpr std::array<std::string_view, 3> kPartNames = {"train", "validation",
                                                        "test"};
constexpr std::array<std::string_view, 2> kMadeSplits = {"random",
                                                         "configuration"};
constexpr char kLabelPrior[] = "analytic";

std::string Listed(const std::set<std::string>& names) {
  return names.empty() ? "none" : Joined(names);
}

std::uint32_t IndexIn(const std::vector<std::string>& sorted,
                      const std::string& value) {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(sorted, value) -
                                    sorted.begin());
}

template <typename Value>
bool Named(const std::vector<Value>& names, const Value& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

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

/// Labels that the options name, failed ones left out.
class LabelFilter {
 public:
  LabelFilter(const SampleOptions& options, const std::vector<Label>& labels)
      : options_(options), provenances_(options.provenances) {
    std::set<std::string> devices;
    bool real = false;
    for (const Label& label : labels) {
      devices.insert(label.device);
      sources_.insert(label.source);
      real = real ||
             (FitsSoFar(label) && label.provenance != Provenance::kSimulated);
    }
    if (options.devices.empty() && !options.all_devices && devices.size() > 1) {
      throw Error(
          ErrorCode::kInvalidArgument,
          "labels of several devices; name one with --device, or all: " +
              Listed(devices));
    }
    devices_ = std::move(devices);
    if (!provenances_.empty()) return;
    provenances_ = {Provenance::kMeasured, Provenance::kImported};
    if (!real) provenances_ = {Provenance::kSimulated};
  }

  bool Fits(const Label& label) const {
    return FitsSoFar(label) && Named(provenances_, label.provenance);
  }

  [[noreturn]] void FailEmpty(const std::string& path) const {
    throw Error(ErrorCode::kInvalidArgument,
                path + ": no label fits; devices: " + Listed(devices_) +
                    "; sources: " + Listed(sources_));
  }

 private:
  bool FitsSoFar(const Label& label) const {
    return label.status != LabelStatus::kFailed &&
           Named(options_.devices, label.device) &&
           Named(options_.sources, label.source);
  }

  const SampleOptions& options_;
  std::vector<Provenance> provenances_;
  std::set<std::string> devices_;
  std::set<std::string> sources_;
};

/// A sample on its way, with what is needed once only.
struct Draft {
  Sample sample;
  const Label* label = nullptr;
  const GraphSummary* graph = nullptr;
  Precision precision = Precision::kFp32;
  const DeviceSpec* device = nullptr;
  Run run = {};  ///< By the label's setting.
  PriorFigures prior;
};

/// Whether a graph looks different when it is run in another way.
bool DependsOnRun(const learned::InputRecipe& recipe) {
  const bool has_kernels =
      recipe.terms &&
      learned::LayoutOf(*recipe.terms).target == Target::kLatency;
  return has_kernels || recipe.node_costs;
}

bool AsksForDevice(const learned::InputRecipe& recipe) {
  return std::ranges::any_of(
      recipe.columns, [](const learned::InputColumn& column) {
        return column.key.source == learned::ColumnSource::kDevice;
      });
}

class Selection {
 public:
  Selection(const Dataset& dataset, const SampleOptions& options)
      : dataset_(dataset),
        options_(options),
        labels_(dataset.Labels()),
        stored_points_(dataset.Points()),
        stored_graphs_(dataset.Graphs()) {
    set_.recipe = options.recipe;
    set_.recipe.prior.clear();
  }

  SampleSet Run() {
    Join();
    DecideFoldedNorms();
    FindDevices();
    if (options_.prior != nullptr) AddEstimates();
    if (options_.prior_from_labels) AddSimulatedLabels();
    MaskWithoutPrior();
    AddParts();
    AddInputs();
    for (Draft& draft : drafts_)
      set_.samples.push_back(std::move(draft.sample));
    return std::move(set_);
  }

 private:
  void Join() {
    for (const StoredPoint& stored : stored_points_) {
      points_.emplace(stored.id, &stored);
    }
    for (const GraphSummary& graph : stored_graphs_) {
      graphs_.emplace(graph.id, &graph);
    }
    const LabelFilter filter(options_, labels_);
    std::set<std::string> devices;
    std::set<std::string> sources;
    std::set<std::string> settings;
    for (const Label& label : labels_) {
      if (!filter.Fits(label) || !Add(label)) continue;
      devices.insert(label.device);
      sources.insert(label.source);
      settings.insert(label.setting);
    }
    if (drafts_.empty()) filter.FailEmpty(dataset_.path());
    set_.devices.assign(devices.begin(), devices.end());
    set_.sources.assign(sources.begin(), sources.end());
    set_.settings.assign(settings.begin(), settings.end());
    for (Draft& draft : drafts_) {
      draft.sample.device = IndexIn(set_.devices, draft.label->device);
      draft.sample.setting = IndexIn(set_.settings, draft.label->setting);
    }
  }

  bool Add(const Label& label) {
    const StoredPoint& stored = *points_.at(label.point);
    const auto graph = graphs_.find(stored.graph);
    if (graph == graphs_.end() || graph->second->num_nodes == 0) {
      ++set_.without_graph;
      return false;
    }
    Sample sample{.point = stored.id,
                  .graph = stored.graph,
                  .num_nodes = graph->second->num_nodes,
                  .model = stored.point.model,
                  .family = stored.point.family,
                  .batch = stored.point.batch,
                  .macs = graph->second->statics.macs,
                  .provenance = label.provenance};
    const foretell::Run run = Setting(label.setting).ToRun();
    if (DependsOnRun(options_.recipe)) sample.run = run;
    const learned::TargetValues figures = FiguresOf(label);
    bool any = false;
    for (const Target target : options_.targets) {
      ValueOf(sample.targets, target) = ValueOf(figures, target);
      any = any || learned::IsKnown(ValueOf(figures, target));
    }
    if (!any) {
      ++set_.without_figure;
      return false;
    }
    if (label.provenance == Provenance::kSimulated) {
      sample.weight = static_cast<float>(options_.simulated_weight);
    }
    drafts_.push_back({.sample = std::move(sample),
                       .label = &label,
                       .graph = graph->second,
                       .precision = stored.point.precision,
                       .run = run});
    return true;
  }

  /// What was simulated from a file is of the file as it is, norms folded; a
  /// checkpoint's recipe has decided already.
  void DecideFoldedNorms() {
    const bool follows = !set_.recipe.columns.empty();
    const bool all_simulated =
        std::ranges::all_of(drafts_, [](const Draft& draft) {
          return draft.label->provenance == Provenance::kSimulated;
        });
    if (!follows && all_simulated) set_.recipe.restore_folded_norms = false;
  }

  void FindDevices() {
    const bool needed = options_.prior != nullptr || options_.device_columns ||
                        options_.recipe.node_costs || options_.recipe.terms ||
                        AsksForDevice(options_.recipe);
    if (!needed) return;
    for (const std::string& name : set_.devices) {
      set_.specs.push_back(&options_.catalog->FindDevice(name));
    }
    for (Draft& draft : drafts_) draft.device = set_.specs[draft.sample.device];
  }

  void AddEstimates() {
    std::vector<PriorRequest> requests;
    for (Draft& draft : drafts_) {
      draft.run = RunAsLearned(draft.run, set_.recipe);
      requests.push_back({draft.sample.graph, draft.device, draft.run});
    }
    const std::map<PriorRequest, PriorFigures> estimates = EstimatePriors(
        dataset_.path(), *options_.prior, requests, options_.threads);
    for (Draft& draft : drafts_) {
      draft.prior = estimates.at({draft.sample.graph, draft.device, draft.run});
      draft.sample.prior = draft.prior.values;
    }
    set_.recipe.prior = options_.prior->name;
  }

  void AddSimulatedLabels() {
    std::map<std::pair<RowId, std::string_view>, learned::TargetValues>
        simulated;
    for (const Label& label : labels_) {
      if (label.provenance != Provenance::kSimulated) continue;
      simulated[{label.point, label.device}] = FiguresOf(label);
    }
    for (Draft& draft : drafts_) {
      const auto found =
          simulated.find({draft.sample.point, draft.label->device});
      if (found != simulated.end()) draft.sample.prior = found->second;
      draft.prior.values = draft.sample.prior;
    }
    set_.recipe.prior = kLabelPrior;
  }

  /// A figure that the prior says nothing of cannot be learned as its ratio.
  void MaskWithoutPrior() {
    if (set_.recipe.prior.empty()) return;
    std::erase_if(drafts_, [this](Draft& draft) {
      bool any = false;
      for (const Target target : options_.targets) {
        double& value = ValueOf(draft.sample.targets, target);
        if (!learned::IsKnown(value)) continue;
        const bool has_prior = ValueOf(draft.sample.prior, target) > 0;
        if (!has_prior) value = learned::kUnknown;
        set_.without_prior += has_prior ? 0 : 1;
        any = any || has_prior;
      }
      return !any;
    });
    if (!drafts_.empty()) return;
    throw Error(ErrorCode::kInvalidArgument,
                dataset_.path() + ": the prior knows none of the labels");
  }

  void AddParts() {
    const std::map<RowId, std::string> parts = Parts();
    for (Draft& draft : drafts_) {
      const auto found = parts.find(draft.sample.point);
      if (found != parts.end()) draft.sample.part = ParsePart(found->second);
      if (options_.split.empty()) draft.sample.part = Part::kTrain;
    }
  }

  std::map<RowId, std::string> Parts() const {
    const std::string& name = options_.split;
    if (name.empty()) return {};
    const std::vector<std::string> stored = dataset_.SplitNames();
    const bool made = std::ranges::find(stored, name) == stored.end() &&
                      std::ranges::find(kMadeSplits, name) != kMadeSplits.end();
    return made ? dataset::MakeSplit(stored_points_,
                                     dataset::ParseSplitKind(name), 0)
                : dataset_.Split(name);
  }

  void AddInputs() {
    if (set_.recipe.columns.empty()) AddColumns();
    for (Draft& draft : drafts_) {
      const Setting setting(draft.label->setting);
      draft.sample.inputs = MakeColumns(
          {.statics = &draft.graph->statics,
           .device = draft.device,
           .precision = draft.precision,
           .prior = set_.recipe.prior.empty() ? nullptr : &draft.sample.prior,
           .prior_figures = &draft.prior.figures,
           .setting = &setting},
          set_.recipe);
    }
  }

  void AddColumns() {
    const auto append = [this](const std::vector<learned::ColumnKey>& keys) {
      for (const learned::ColumnKey& key : keys) {
        set_.recipe.columns.push_back({.key = key});
      }
    };
    append(learned::StaticColumns());
    if (options_.device_columns) append(learned::DeviceColumns());
    if (options_.prior_columns) {
      append(learned::PriorColumns(options_.targets));
      append(PriorFigureColumns());
    }
    append(SettingColumns());
  }

  std::vector<learned::ColumnKey> PriorFigureColumns() const {
    std::vector<learned::ColumnKey> keys;
    if (options_.prior == nullptr) return keys;
    for (const std::string& name : options_.prior->figures) {
      keys.push_back({learned::ColumnSource::kPriorFigure, name});
    }
    return keys;
  }

  /// A column per value of each key.
  std::vector<learned::ColumnKey> SettingColumns() const {
    std::vector<learned::ColumnKey> keys;
    for (const std::string& key : options_.setting_keys) {
      std::set<std::string> values;
      for (const Draft& draft : drafts_) {
        values.insert(Setting(draft.label->setting).ValueOf(key));
      }
      for (const std::string& value : values) {
        keys.push_back({learned::ColumnSource::kSetting, key, value});
      }
    }
    return keys;
  }

  const Dataset& dataset_;
  const SampleOptions& options_;
  const std::vector<Label> labels_;
  const std::vector<StoredPoint> stored_points_;
  const std::vector<GraphSummary> stored_graphs_;
  std::map<RowId, const StoredPoint*> points_;
  std::map<RowId, const GraphSummary*> graphs_;
  std::vector<Draft> drafts_;
  SampleSet set_;
};

}  // namespace

std::string_view PartName(Part part) {
  return kPartNames.at(static_cast<std::size_t>(part));
}

std::optional<Part> ParsePart(std::string_view name) {
  const auto* found = std::ranges::find(kPartNames, name);
  if (found == kPartNames.end()) return std::nullopt;
  return static_cast<Part>(found - kPartNames.begin());
}

std::vector<std::size_t> SampleSet::PartOf(Part part) const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].part == part) indices.push_back(i);
  }
  return indices;
}

std::vector<std::size_t> SampleSet::ForJudging(
    std::vector<std::size_t> indices) const {
  const auto simulated = [this](std::size_t index) {
    return samples[index].provenance == Provenance::kSimulated;
  };
  if (!std::ranges::all_of(indices, simulated)) {
    std::erase_if(indices, simulated);
  }
  return indices;
}

std::map<Provenance, std::int64_t> SampleSet::CountProvenance(
    std::span<const std::size_t> indices) const {
  std::map<Provenance, std::int64_t> counts;
  for (const std::size_t index : indices) {
    ++counts[samples.at(index).provenance];
  }
  return counts;
}

SampleSet SelectSamples(const Dataset& dataset, const SampleOptions& options) {
  return Selection(dataset, options).Run();
}

}  // namespace foretell::training
