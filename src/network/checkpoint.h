#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/features.h"
#include "src/features/input_recipe.h"
#include "src/features/targets.h"
#include "src/features/term_probe.h"
#include "src/network/network.h"
#include "src/network/safetensors.h"

namespace foretell::learned {

/// Version of the metadata; grows when an older foretell could not read it.
/// 1 had the names of columns as text and most of the recipe among other notes;
/// it is read, too.
inline constexpr int kCheckpointSchema = 2;

/// How far the truth lies from predictions, found on held-out samples: a share
/// `coverage` of true / predicted lies in [exp(lo), exp(hi)].
struct ResidualInterval {
  double lo = 0;  ///< Quantile of log(true / predicted); at most 0.
  double hi = 0;  ///< At least 0.
  double coverage = 0.9;
  std::int64_t count = 0;  ///< Samples that it was found on.

  bool operator==(const ResidualInterval&) const = default;
};

/// One output of the network.
struct CheckpointTarget {
  TargetScale scale;
  std::optional<ResidualInterval> interval;
  /// Mean absolute percentage error on the validation part, as a share.
  std::optional<double> validation_mape;

  bool operator==(const CheckpointTarget&) const = default;
};

/// What a checkpoint states about itself.
struct CheckpointInfo {
  int feature_version = 0;       ///< kFeatureVersion it was trained with.
  std::string foretell_version;  ///< That wrote it.
  NetworkOptions network;
  std::vector<CheckpointTarget> targets;  ///< In the order of the outputs.
  InputRecipe recipe;                     ///< What the network sees.
  std::vector<std::string> devices;       ///< Names in the labels, sorted.
  std::vector<std::string> sources;       ///< Names in the labels, sorted.
  /// How many labels of the training part were "measured", "simulated", ….
  std::map<std::string, std::int64_t> provenance;
  /// Notes on how it was trained: "libtorch", "compute", ….
  std::map<std::string, std::string> environment;
  std::int64_t epochs = 0;  ///< That these weights have seen.
  /// Network::InputDistance that 99 % of the training samples stay below;
  /// unknown for networks without one.
  std::optional<double> far_distance;
  /// What the network saw of fixed graphs in training; empty for networks over
  /// operators, and in checkpoints older than the field.
  std::optional<TermProbe> probe;

  /// How far that is from what it sees of them now; empty without a probe.
  std::optional<TermDrift> Drift() const;
};

/// A network with all that is needed to use it, or to go on training it.
struct Checkpoint {
  CheckpointInfo info;
  std::map<std::string, StoredTensor> weights;  ///< By parameter.
  /// For going on: state of the optimizer and of the run; both empty in a
  /// checkpoint that is only for predicting.
  std::map<std::string, StoredTensor> optimizer;
  std::string training;  ///< JSON.
};

/// The bytes of a safetensors file: weights under their names, the optimizer's
/// under "optimizer.…", and in "__metadata__" the description as JSON and a
/// hash over everything. Equal checkpoints give equal bytes.
std::string SerializeCheckpoint(const Checkpoint& checkpoint);

/// Reads such bytes; `origin` names them in errors. Throws Error: kCorrupt for
/// any damage, kUnsupported for a newer schema or other node features.
Checkpoint ParseCheckpoint(std::string_view bytes, const std::string& origin);

/// Reads a file; throws Error(kNotFound) and what ParseCheckpoint throws.
Checkpoint ReadCheckpoint(const std::string& path);

}  // namespace foretell::learned
