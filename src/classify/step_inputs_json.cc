#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "src/classify/step_inputs.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/json_fields.h"
#include "src/core/units.h"

namespace foretell::classify {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 60;
constexpr double kMostMib = 1e12;
/// A line is a few kB, a study has some thousands of them.
constexpr std::int64_t kMostStepBytes = 4 * kGiB;

void DescribeSimulated(JsonFields& fields, SimulatedMemory& simulated) {
  fields.Number("total_mib", simulated.total_mib, 0, kMostMib);
  fields.Number("allocated_mib", simulated.allocated_mib, 0, kMostMib);
  fields.Number("workspace_mib", simulated.workspace_mib, 0, kMostMib);
  fields.Number("tensors_mib", simulated.tensors_mib, -kMostMib, kMostMib);
  fields.NumberOrNull("held_mib", simulated.held_mib, 0, kMostMib);
}

void DescribeLayer(JsonFields& fields, Layer& layer) {
  fields.Named("kind", layer.kind, &LayerKindName, &ParseLayerKind);
  fields.Int("activations", layer.activations, 0, kMostSize);
  fields.Int("parameters", layer.parameters, 0, kMostSize);
}

void DescribeInputs(JsonFields& fields, StepInputs& inputs) {
  fields.Int("batch", inputs.batch, 1, kMostSize);
  fields.Int("parameters", inputs.parameters, 0, kMostSize);
  fields.Int("activations", inputs.activations, 0, kMostSize);
  fields.Named("activation", inputs.activation, &ActivationName,
               &ParseActivation);
  fields.Object("simulated", [&](JsonFields& simulated) {
    DescribeSimulated(simulated, inputs.simulated);
  });
  fields.Objects("layers", inputs.layers, &DescribeLayer);
}

void DescribeStep(JsonFields& fields, LabelledStep& step) {
  fields.Text("name", step.name);
  fields.Text("set", step.set);
  fields.NumberOrNull("memory_mib", step.memory_mib, 0, kMostMib);
  fields.Object("inputs", [&](JsonFields& inputs) {
    DescribeInputs(inputs, step.inputs);
  });
}

}  // namespace

nlohmann::ordered_json StepInputsToJson(const StepInputs& inputs) {
  return WriteFields(inputs, &DescribeInputs);
}

nlohmann::ordered_json LabelledStepToJson(const LabelledStep& step) {
  return WriteFields(step, &DescribeStep);
}

LabelledStep LabelledStepFromJson(const nlohmann::json& json,
                                  const std::string& origin) {
  return ReadFields<LabelledStep>(JsonObject(json, origin, ""), &DescribeStep);
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
  throw Corrupt("{}: holds no step, expected one a line", path);
}

}  // namespace foretell::classify
