#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foretell/dataset.h"
#include "foretell/device.h"
#include "src/network/checkpoint.h"
#include "training/samples/feature_store.h"
#include "training/samples/samples.h"

namespace foretell::cli {

/// Flags that say which labels are learned from, or judged by.
struct SampleFlags {
  std::string dataset;
  /// A split, or "none".
  std::string split = "configuration";
  std::vector<std::string> devices;
  std::vector<std::string> targets = {"memory", "latency", "energy"};
  std::vector<std::string> provenances;
  std::vector<std::string> sources;
  double simulated_weight = 1;
  std::string prior = "none";
  bool device_columns = false;
  bool prior_columns = false;
  std::vector<std::string> setting_keys;
  /// Edges, costs of nodes, context model and host have flags; terms follow the
  /// network, columns a checkpoint.
  learned::InputRecipe recipe;
  std::vector<std::string> device_files;
  std::int64_t cache_mib = 1024;
  int threads = 0;

  /// Flags that choose labels; with `learning` those that a checkpoint would
  /// otherwise decide too.
  void AddTo(CLI::App& command, bool learning);
  /// What a checkpoint decides: targets, prior and recipe.
  void Follow(const learned::CheckpointInfo& info);
  std::vector<learned::Target> Targets() const;

  /// As JSON for a run that is resumed.
  std::string ToJson() const;
  /// Throws Error(kCorrupt) that names `origin`.
  void FromJson(const std::string& json, const std::string& origin);
};

/// Labels with all that belongs to them.
struct OpenedSamples {
  DeviceCatalog catalog;
  training::SampleSet set;
  std::unique_ptr<training::FeatureStore> store;
};

/// Opens the dataset and selects samples; sets the number of threads.
/// Throws as SelectSamples.
OpenedSamples OpenSamples(const SampleFlags& flags);

/// The device of all labels, if it is one and the catalogue has it.
const DeviceSpec* KnownDevice(const OpenedSamples& opened);

/// "split s, part test", for headers.
std::string SelectionText(const std::string& split, const std::string& part);

}  // namespace foretell::cli
