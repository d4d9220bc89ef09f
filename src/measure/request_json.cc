#include <string>

#include "foretell/measure.h"
#include "src/core/json_object.h"
#include "src/measure/json_fields.h"

namespace foretell {
namespace {

using measure::Json;

constexpr char kOrigin[] = "measuring request";

constexpr auto kOptionsFields = [](auto& options, auto&& visit) {
  auto& energy = options.energy_options;
  visit("warmup_runs", options.warmup_runs);
  visit("min_runs", options.min_runs);
  visit("min_seconds", options.min_seconds);
  visit("energy", options.energy);
  visit("energy_min_window_s", energy.min_window_s);
  visit("energy_min_counter_steps", energy.min_counter_steps);
  visit("energy_repeats", energy.repeats);
  visit("energy_idle_window_s", energy.idle_window_s);
  visit("energy_max_window_s", energy.max_window_s);
  visit("deadline_s", options.deadline_s);
  visit("threads", options.threads);
  visit("nvml_library", options.nvml_library);
  visit("powercap_folder", options.powercap_folder);
};

MeasureRequest ReadRequest(const nlohmann::json& document) {
  JsonObject object(document, kOrigin, "");
  MeasureRequest request;
  object.Read("model", request.model);
  object.ReadNamed("fuse", &ParseFusion, request.load.fusion);
  request.inputs.inputs = measure::ReadInputs(object);
  object.Read("batch", request.inputs.batch);
  object.Read("dims", request.inputs.dims);
  if (object.IsGiven("run")) {
    request.run =
        RunFromJson(document["run"].dump(), std::string(kOrigin) + ": run");
  }
  object.Read("device", request.device);
  object.Read("seed", request.seed);
  if (object.IsGiven("options")) {
    measure::ReadFields(object.Object("options"), kOptionsFields,
                        request.options);
  }
  return request;
}

}  // namespace

std::string RequestToJson(const MeasureRequest& request) {
  const Json json = {
      {"model", request.model},
      {"fuse", FusionName(request.load.fusion)},
      {"inputs", measure::InputsToJson(request.inputs.inputs)},
      {"batch", measure::FieldJson(request.inputs.batch)},
      {"dims", request.inputs.dims},
      {"run", Json::parse(RunToJson(request.run))},
      {"device", request.device},
      {"seed", request.seed},
      {"options", measure::FieldsToJson(request.options, kOptionsFields)}};
  // Nobody reads it but the worker: names stay what they are.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

MeasureRequest RequestFromJson(std::string_view json) {
  return ReadRequest(ParseJson(json, kOrigin));
}

}  // namespace foretell
