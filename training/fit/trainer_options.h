#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "src/core/json_object.h"
#include "src/features/targets.h"
#include "src/network/network.h"
#include "training/fit/schedule.h"

namespace foretell::training {

/// The learning rate of the paper, found there by Smith's range test.
inline constexpr double kPaperLearningRate = 2.754e-5;

/// Options of training; options other than those of network and optimizer
/// follow the paper if it gives a value.
struct TrainerOptions {
  /// Its node_features, static_features and outputs are set by the trainer.
  learned::NetworkOptions network = {};
  learned::ScaleKind scale = learned::ScaleKind::kLog;
  std::int64_t epochs = 10;
  std::int64_t batch_size = 32;  ///< Graphs per step, of all workers together.
  double learning_rate = kPaperLearningRate;
  Schedule schedule = Schedule::kConstant;
  double warmup_epochs = 0;
  double weight_decay = 0;
  bool decoupled_decay = false;  ///< As WeightDecay::decoupled.
  double clip = 0;               ///< Largest norm of the gradient; 0: no limit.
  double huber_delta =
      1;  ///< Error above which the loss is linear, in scaled space.
  /// Epochs without a better validation loss before the end; 0: never.
  std::int64_t patience = 0;
  std::uint64_t seed = 0;
  bool mixed_precision = false;  ///< bfloat16 for safe operators; CUDA only.
  std::string compute = "cpu";   ///< "cpu", "cuda", "cuda:1".

  /// Throws Error(kInvalidArgument) that names the option and its value.
  void Check() const;
};

nlohmann::json TrainerOptionsToJson(const TrainerOptions& options);
/// Throws Error(kCorrupt) that names the field and its value.
TrainerOptions TrainerOptionsFromJson(JsonObject object);

}  // namespace foretell::training
