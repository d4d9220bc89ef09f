#include "training/fit/trainer_options.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "foretell/error.h"
#include "src/network/checkpoint_json.h"

namespace foretell::training {
namespace {

using Json = nlohmann::json;

void Require(bool holds, const std::string& name, double value,
             const char* expected) {
  if (holds && std::isfinite(value)) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{} is {}, expected {}", name, Json(value).dump(), expected));
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
    throw Error(ErrorCode::kInvalidArgument,
                "mixed precision needs a GPU; the device is " + compute);
  }
}

Json TrainerOptionsToJson(const TrainerOptions& options) {
  return {{"network", learned::NetworkToJson(options.network)},
          {"scale", ScaleKindName(options.scale)},
          {"epochs", options.epochs},
          {"batch_size", options.batch_size},
          {"learning_rate", options.learning_rate},
          {"schedule", ScheduleName(options.schedule)},
          {"warmup_epochs", options.warmup_epochs},
          {"weight_decay", options.weight_decay},
          {"decoupled_decay", options.decoupled_decay},
          {"clip", options.clip},
          {"huber_delta", options.huber_delta},
          {"patience", options.patience},
          {"seed", options.seed},
          {"mixed_precision", options.mixed_precision},
          {"compute", options.compute}};
}

TrainerOptions TrainerOptionsFromJson(const Json& json,
                                      const std::string& origin) {
  try {
    TrainerOptions options{
        .network = learned::NetworkFromJson(json.at("network"), origin),
        .epochs = json.at("epochs"),
        .batch_size = json.at("batch_size"),
        .learning_rate = json.at("learning_rate"),
        .warmup_epochs = json.at("warmup_epochs"),
        .weight_decay = json.at("weight_decay"),
        // Absent in runs older than the option.
        .decoupled_decay = json.value("decoupled_decay", false),
        .clip = json.at("clip"),
        .huber_delta = json.at("huber_delta"),
        .patience = json.at("patience"),
        .seed = json.at("seed"),
        .mixed_precision = json.at("mixed_precision"),
        .compute = json.at("compute")};
    const auto scale =
        learned::ParseScaleKind(json.at("scale").get<std::string>());
    const auto schedule = ParseSchedule(json.at("schedule").get<std::string>());
    if (!scale || !schedule) {
      throw Error(ErrorCode::kCorrupt, origin + ": unknown scale or schedule");
    }
    options.scale = *scale;
    options.schedule = *schedule;
    return options;
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kCorrupt, fmt::format("{}: options of the run: {}",
                                                 origin, error.what()));
  }
}

}  // namespace foretell::training
