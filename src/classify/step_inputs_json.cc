#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "foretell/error.h"
#include "src/classify/step_inputs.h"
#include "src/core/files.h"
#include "src/core/json_object.h"
#include "src/core/parse_json.h"
#include "src/core/units.h"

namespace foretell::classify {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 60;
constexpr double kMostMib = 1e12;
/// A line is a few kB, a study has some thousands of them.
constexpr std::int64_t kMostStepBytes = 4 * kGiB;

nlohmann::ordered_json SimulatedToJson(const SimulatedMemory& simulated) {
  nlohmann::ordered_json json = {{"total_mib", simulated.total_mib},
                                 {"allocated_mib", simulated.allocated_mib},
                                 {"workspace_mib", simulated.workspace_mib},
                                 {"tensors_mib", simulated.tensors_mib},
                                 {"held_mib", nullptr}};
  if (simulated.held_mib) json["held_mib"] = *simulated.held_mib;
  return json;
}

SimulatedMemory SimulatedFrom(JsonObject json) {
  SimulatedMemory simulated{
      .total_mib = json.Number("total_mib", 0, kMostMib),
      .allocated_mib = json.Number("allocated_mib", 0, kMostMib),
      .workspace_mib = json.Number("workspace_mib", 0, kMostMib),
      .tensors_mib = json.Number("tensors_mib", -kMostMib, kMostMib)};
  if (json.IsGiven("held_mib")) {
    simulated.held_mib = json.Number("held_mib", 0, kMostMib);
  }
  json.Finish();
  return simulated;
}

Layer LayerFrom(JsonObject& json) {
  Layer layer{.kind = json.Named("kind", ParseLayerKind),
              .activations = json.Int("activations", 0, kMostSize),
              .parameters = json.Int("parameters", 0, kMostSize)};
  json.Finish();
  return layer;
}

StepInputs StepInputsFrom(JsonObject json) {
  StepInputs inputs{.batch = json.Int("batch", 1, kMostSize),
                    .parameters = json.Int("parameters", 0, kMostSize),
                    .activations = json.Int("activations", 0, kMostSize),
                    .activation = json.Named("activation", ParseActivation)};
  for (JsonObject& layer : json.Objects("layers")) {
    inputs.layers.push_back(LayerFrom(layer));
  }
  inputs.simulated = SimulatedFrom(json.Object("simulated"));
  json.Finish();
  return inputs;
}

}  // namespace

nlohmann::ordered_json StepInputsToJson(const StepInputs& inputs) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const Layer& layer : inputs.layers) {
    layers.push_back({{"kind", LayerKindName(layer.kind)},
                      {"activations", layer.activations},
                      {"parameters", layer.parameters}});
  }
  return {{"batch", inputs.batch},
          {"parameters", inputs.parameters},
          {"activations", inputs.activations},
          {"activation", ActivationName(inputs.activation)},
          {"simulated", SimulatedToJson(inputs.simulated)},
          {"layers", std::move(layers)}};
}

nlohmann::ordered_json LabelledStepToJson(const LabelledStep& step) {
  nlohmann::ordered_json json = {{"name", step.name},
                                 {"set", step.set},
                                 {"memory_mib", nullptr},
                                 {"inputs", StepInputsToJson(step.inputs)}};
  if (step.memory_mib) json["memory_mib"] = *step.memory_mib;
  return json;
}

LabelledStep LabelledStepFromJson(const nlohmann::json& json,
                                  const std::string& origin) {
  JsonObject object(json, origin, "");
  LabelledStep step{.name = object.String("name"),
                    .set = object.String("set"),
                    .inputs = StepInputsFrom(object.Object("inputs"))};
  if (object.IsGiven("memory_mib")) {
    step.memory_mib = object.Number("memory_mib", 0, kMostMib);
  }
  object.Finish();
  return step;
}

std::vector<LabelledStep> ReadLabelledSteps(const std::string& path) {
  const std::string text = ReadFile(path, kMostStepBytes);
  std::vector<LabelledStep> steps;
  std::int64_t line = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string origin = fmt::format("{}: line {}", path, ++line);
    steps.push_back(
        LabelledStepFromJson(ParseJson(rest.substr(0, end), origin), origin));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!steps.empty()) return steps;
  throw Error(ErrorCode::kCorrupt,
              fmt::format("{}: holds no step, expected one a line", path));
}

}  // namespace foretell::classify
