#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/dataset.h"
#include "foretell/host.h"
#include "src/features/input_recipe.h"
#include "src/features/targets.h"
#include "src/network/checkpoint.h"

namespace foretell::training {

/// Source of the first estimate that a network corrects.
enum class PriorSource : std::uint8_t {
  kNone,      ///< The network predicts alone.
  kAnalytic,  ///< AnalyticPrior, computed for every sample.
  kLabels,    ///< Simulated labels in the dataset; quicker.
};
std::string_view PriorSourceName(PriorSource source);  ///< "none", ….
std::optional<PriorSource> ParsePriorSource(std::string_view name);

/// SampleRequest::split without a split, and devices of every kind.
inline constexpr char kNoSplit[] = "none";
inline constexpr char kAllDevices[] = "all";

/// Request of OpenSamples in terms of the user: names of splits and devices,
/// files of devices, whole MiB.
struct SampleRequest {
  std::string dataset;                  ///< Path.
  std::string split = "configuration";  ///< As SampleOptions; or kNoSplit.
  /// Names in the labels; {kAllDevices}: every one; empty: the only one.
  std::vector<std::string> devices = {};
  /// In any order. Empty: all, or what FollowTerms sets.
  std::vector<learned::Target> targets = {};
  std::vector<Provenance> provenances = {};  ///< As SampleOptions.
  std::vector<std::string> sources = {};     ///< Empty: every one.
  double simulated_weight = 1;
  double source_balance = 0;  ///< As SampleOptions.
  PriorSource prior = PriorSource::kNone;
  /// Of kAnalytic, as AnalyticPriorFigures takes it.
  std::optional<HostSpec> prior_host = HostSpec{};
  bool device_columns = false;  ///< Figures of the device as inputs.
  bool prior_columns = false;   ///< Estimates of the prior as inputs.
  std::vector<std::string> setting_keys = {};
  /// Edges, costs of nodes, context model and host are the user's; the rest
  /// follows from the network and the samples, or all of it from a checkpoint.
  learned::InputRecipe recipe = {};
  std::vector<std::string> device_files = {};  ///< Added to built-in devices.
  std::int64_t cache_mib = 1024;               ///< For decoded graphs.
  int threads = 0;  ///< Threads of this process; 0: LibTorch's default.

  /// The targets in the order of kAllTargets, each once; all if none is named.
  std::vector<learned::Target> Targets() const;
};

/// Requests the inputs of a network over `terms` (empty: over operators): sets
/// an unset target to the total of the terms; for kernels, adds figures of the
/// training devices.
void FollowTerms(std::optional<learned::TermSet> terms, SampleRequest& request);

/// Requests the targets, recipe and prior of a checkpoint's training. Keeps a
/// prior from labels.
void FollowCheckpoint(const learned::CheckpointInfo& info,
                      SampleRequest& request);

/// Everything that samples depend on, except the cache and the threads: for
/// resumed runs and cached results.
nlohmann::json SampleRequestToJson(const SampleRequest& request);

/// Sets everything from such JSON, except the cache, the threads and a dataset
/// that is already named (one that was moved). Throws Error(kCorrupt) that
/// names `origin`.
void ReadSampleRequest(const std::string& json, const std::string& origin,
                       SampleRequest& request);

}  // namespace foretell::training
