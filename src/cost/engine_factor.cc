#include "src/cost/engine_factor.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/core/embedded_file.h"
#include "src/core/parse_json.h"

namespace foretell::cost {

std::span<const EmbeddedFile> EngineFactorFiles();

namespace {

/// The numbers of data/tensorrt.json.
struct FactorTable {
  std::map<std::string, double> generations;
  double other_generations = 1;
  double int8 = 1;
  double sparse = 1;
  double grouped_convolutions = 1;
};

const FactorTable& Factors() {
  static const FactorTable table = [] {
    const EmbeddedFile& file = EngineFactorFiles().front();
    const nlohmann::json json = ParseJson(file.bytes, file.path);
    return FactorTable{.generations = json.at("generations"),
                       .other_generations = json.at("other_generations"),
                       .int8 = json.at("int8"),
                       .sparse = json.at("sparse"),
                       .grouped_convolutions = json.at("grouped_convolutions")};
  }();
  return table;
}

}  // namespace

std::optional<EngineTraits> EngineTraitsOf(const OperatorGraph& graph) {
  const RuntimeSpec& spec = graph.info().runtime;
  if (spec.runtime != Runtime::kTensorRt) return {};
  const bool groups = std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return node.kind == OpKind::kConvolution && node.Int("groups", 1) > 1;
  });
  const bool int8 = std::ranges::any_of(graph.values(), [](const Value& value) {
    return value.type.dtype == DType::kI8;
  });
  return EngineTraits{
      .int8 = spec.int8 && int8, .sparse = spec.sparse, .groups = groups};
}

std::vector<bool> NodesWithEngineFactor(const OperatorGraph& graph) {
  std::vector<bool> has_factor;
  has_factor.reserve(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    has_factor.push_back(node.kind != OpKind::kRecurrent);
  }
  return has_factor;
}

double EngineFactor(const EngineTraits& engine, const DeviceSpec& device) {
  const FactorTable& table = Factors();
  const auto generation = table.generations.find(device.architecture);
  double factor = generation == table.generations.end()
                      ? table.other_generations
                      : generation->second;
  if (engine.sparse) {
    factor *= table.sparse;
  } else if (engine.int8) {
    factor *= table.int8;
  }
  return engine.groups ? factor * table.grouped_convolutions : factor;
}

}  // namespace foretell::cost
