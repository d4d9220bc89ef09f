#include <utility>

#include "foretell/error.h"
#include "foretell/measure.h"
#include "src/core/name_table.h"
#include "src/measure/json_values.h"

namespace foretell {
namespace {

using measure::Json;
using measure::Read;
using measure::ReadName;

constexpr NameTable<3> kFusions = {"none", "exported", "equivalent"};

std::string_view FusionName(Fusion fusion) { return NameIn(kFusions, fusion); }

std::optional<Fusion> ParseFusion(std::string_view text) {
  return FindIn<Fusion>(kFusions, text);
}

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

MeasureRequest ReadRequest(const Json& json) {
  MeasureRequest request;
  Read(json, "model", request.model);
  ReadName(json, "fuse", &ParseFusion, request.load.fusion);
  request.inputs.inputs =
      measure::InputsFromJson(json.value("inputs", Json::array()));
  Read(json, "batch", request.inputs.batch);
  Read(json, "dims", request.inputs.dims);
  if (json.contains("run")) {
    request.run = RunFromJson(json["run"].dump(), "measuring request: run");
  }
  Read(json, "device", request.device);
  Read(json, "seed", request.seed);
  request.options = measure::FieldsFromJson<MeasureOptions>(
      json.value("options", Json::object()), kOptionsFields);
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
  constexpr char kWhat[] = "measuring request";
  try {
    return ReadRequest(measure::ParseObject(json, kWhat));
  } catch (const nlohmann::json::exception& error) {
    measure::RefuseJson(kWhat, error.what());
  }
}

}  // namespace foretell
