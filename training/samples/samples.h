#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foretell/dataset.h"
#include "foretell/device.h"
#include "foretell/run.h"
#include "src/features/input_recipe.h"
#include "src/features/targets.h"
#include "training/samples/feature_store.h"
#include "training/samples/prior.h"

namespace foretell::training {

/// Part of a split.
enum class Part : std::uint8_t { kTrain, kValidation, kTest };
std::string_view PartName(Part part);  ///< "train", "validation", "test".
/// Empty for an unknown name.
std::optional<Part> ParsePart(std::string_view name);

/// A label with the data of its point, except nodes and edges, which are read
/// on demand.
struct Sample {
  RowId point = 0;
  RowId graph = 0;
  std::int64_t num_nodes = 0;
  std::string model;
  std::string family;
  std::int64_t batch = 1;
  std::int64_t macs = 0;
  std::uint32_t device = 0;   ///< Index into SampleSet::devices.
  std::uint32_t setting = 0;  ///< Index into SampleSet::settings.
  Provenance provenance = Provenance::kMeasured;
  /// Empty when the split does not have the point.
  std::optional<Part> part;
  std::uint32_t source = 0;  ///< Index into SampleSet::sources.
  /// The label's figures; unknown ones are masked. All are above 0.
  learned::TargetValues targets = learned::kNoValues;
  learned::TargetValues prior = learned::kNoValues;
  std::vector<double> inputs;  ///< Raw, one per column of the recipe.
  float weight = 1;            ///< Weight of the label in the loss.
  Run run = {};  ///< By the label's setting, if the recipe depends on it.
};

/// Selects the labels that become samples.
struct SampleOptions {
  std::vector<learned::Target> targets;  ///< Others are dropped.
  /// Names as the labels have them; empty: the only one.
  std::vector<std::string> devices;
  bool all_devices = false;
  /// Empty: measured and imported labels if there are any, else simulated ones.
  /// The two are mixed only if both are named.
  std::vector<Provenance> provenances;
  std::vector<std::string> sources;  ///< Empty: every one.
  double simulated_weight = 1;
  /// Power of a source's number of labels by which the weight of each is
  /// divided. 0: labels count alike; 1: sources do.
  double source_balance = 0;
  /// A split of the dataset; or "random" or "configuration", which are created
  /// with seed 0 if the dataset has none of that name; or empty: all samples
  /// are for training.
  std::string split;
  /// Inputs of the network. The default columns are the static features and
  /// those of the next three options. The prior's name is that of `prior`.
  /// Terms and costs of nodes need the catalogue.
  learned::InputRecipe recipe;
  bool device_columns = false;  ///< Figures of the device as inputs.
  bool prior_columns = false;   ///< Estimates of the prior as inputs.
  /// Keys of the labels' settings whose values are inputs.
  std::vector<std::string> setting_keys;
  const Prior* prior = nullptr;
  /// Uses simulated labels of the same point and device as the prior, which is
  /// quicker; `prior` must be null.
  bool prior_from_labels = false;
  /// For device columns and the prior; must outlive the samples.
  const DeviceCatalog* catalog = nullptr;
  int threads = 1;  ///< For the prior.
};

/// Samples in the order of their labels.
struct SampleSet {
  std::vector<Sample> samples;
  std::vector<std::string> devices;  ///< Names in the labels, sorted.
  /// Settings of the labels, sorted.
  std::vector<std::string> settings;
  /// Figures of the devices if needed; else empty.
  std::vector<const DeviceSpec*> specs;
  std::vector<std::string> sources;  ///< Names in the labels, sorted.
  learned::InputRecipe recipe;       ///< Its columns are not scaled yet.
  std::int64_t without_graph = 0;    ///< Labels left out for lack of a graph.
  std::int64_t without_figure = 0;   ///< … because no target has a figure.
  std::int64_t without_prior = 0;    ///< Figures left out for lack of a prior.

  /// The key of its input in FeatureStore::Get.
  InputKey InputOf(const Sample& sample) const;
  /// Indices of the samples of a part.
  std::vector<std::size_t> PartOf(Part part) const;
  /// Those of `indices` for evaluation: if measured labels are mixed with
  /// simulated ones, only the measured ones.
  std::vector<std::size_t> ForJudging(std::vector<std::size_t> indices) const;
  std::map<Provenance, std::int64_t> CountProvenance(
      std::span<const std::size_t> indices) const;
};

/// Joins labels, points and graphs. Throws Error(kInvalidArgument) when no
/// label fits, listing the devices and sources present, and for several devices
/// when none is named; Error(kNotFound) for an unknown split or device.
SampleSet SelectSamples(const Dataset& dataset, const SampleOptions& options);

}  // namespace foretell::training
