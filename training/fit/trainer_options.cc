#include "training/fit/trainer_options.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/core/failure.h"
#include "src/core/json_fields.h"
#include "src/network/checkpoint_json.h"

namespace foretell::training {
namespace {

void Require(bool holds, const std::string& name, double value,
             const char* expected) {
  if (holds && std::isfinite(value)) return;
  throw InvalidArgument("{} is {}, expected {}", name,
                        nlohmann::json(value).dump(), expected);
}

void DescribeOptions(JsonFields& fields, TrainerOptions& options) {
  fields.Object("network", [&](JsonFields& network) {
    DescribeNetwork(network, options.network);
  });
  fields.Named("scale", options.scale, &learned::ScaleKindName,
               &learned::ParseScaleKind);
  fields.Value("epochs", options.epochs);
  fields.Value("batch_size", options.batch_size);
  fields.Value("learning_rate", options.learning_rate);
  fields.Named("schedule", options.schedule, &ScheduleName, &ParseSchedule);
  fields.Value("warmup_epochs", options.warmup_epochs);
  fields.Value("weight_decay", options.weight_decay);
  // Absent in runs older than the option.
  fields.Optional("decoupled_decay", options.decoupled_decay);
  fields.Value("clip", options.clip);
  fields.Value("huber_delta", options.huber_delta);
  fields.Value("patience", options.patience);
  fields.Value("seed", options.seed);
  fields.Value("mixed_precision", options.mixed_precision);
  fields.Value("compute", options.compute);
}

}  // namespace

void TrainerOptions::Check() const {
  Require(epochs > 0, "epochs", static_cast<double>(epochs), "at least 1");
  Require(batch_size > 0, "batch size", static_cast<double>(batch_size),
          "at least 1");
  Require(learning_rate > 0, "learning rate", learning_rate, "more than 0");
  Require(warmup_epochs >= 0, "warm-up", warmup_epochs, "at least 0");
  Require(weight_decay >= 0, "weight decay", weight_decay, "at least 0");
  Require(clip >= 0, "clip", clip, "at least 0");
  Require(huber_delta > 0, "Huber delta", huber_delta, "more than 0");
  Require(patience >= 0, "patience", static_cast<double>(patience),
          "at least 0");
  if (mixed_precision && !compute.starts_with("cuda")) {
    throw InvalidArgument("mixed precision needs a GPU; the device is {}",
                          compute);
  }
}

nlohmann::json TrainerOptionsToJson(const TrainerOptions& options) {
  return WriteFields(options, &DescribeOptions);
}

TrainerOptions TrainerOptionsFromJson(JsonObject object) {
  return ReadFields<TrainerOptions>(std::move(object), &DescribeOptions);
}

}  // namespace foretell::training
