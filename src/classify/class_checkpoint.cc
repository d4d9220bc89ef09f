#include "src/classify/class_checkpoint.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "foretell/error.h"
#include "src/core/files.h"
#include "src/core/json_object.h"
#include "src/core/parse_json.h"
#include "src/core/units.h"
#include "src/network/sealed.h"
#include "src/network/weights.h"

namespace foretell::classify {
namespace {

constexpr const char* kKey = learned::kSealedClasses.key;
/// Some hundred times the size of the largest ensemble.
constexpr std::int64_t kMostClassBytes = 256 * kMiB;

nlohmann::json InfoToJson(const EnsembleInfo& info) {
  return {{"schema_version", kClassCheckpointSchema},
          {"edges_mib", info.classes.edges_mib()},
          {"inputs", InputSetName(info.inputs)},
          {"numbers", NumberNames(info.inputs, info.classes)},
          {"estimator", EstimatorName(info.kind)},
          {"members", info.members},
          {"device", info.device},
          {"environment", info.environment},
          {"sets", info.sets},
          {"steps", info.steps}};
}

MemoryClasses ClassesFrom(JsonObject& json) {
  try {
    return MemoryClasses(json.Get<std::vector<double>>("edges_mib"));
  } catch (const Error& error) {
    json.Fail("edges_mib", fmt::format("is unusable: {}", error.what()));
  }
}

EnsembleInfo InfoFromJson(const nlohmann::json& document,
                          const std::string& origin) {
  JsonObject json(document, origin, "");
  json.RequireSchemaVersion(kClassCheckpointSchema);
  EnsembleInfo info{.classes = ClassesFrom(json),
                    .inputs = json.Named("inputs", ParseInputSet),
                    .kind = json.Named("estimator", ParseEstimator),
                    .members = static_cast<int>(
                        json.Int("members", 1, Ensemble::kMostMembers)),
                    .device = json.String("device"),
                    .environment = json.String("environment"),
                    .sets = json.Strings("sets"),
                    .steps = json.Int("steps", 1, std::int64_t{1} << 40)};
  if (json.Strings("numbers") != NumberNames(info.inputs, info.classes)) {
    json.Fail("numbers", "are not those that this foretell encodes");
  }
  json.Finish();
  return info;
}

}  // namespace

std::string SerializeEnsemble(const Ensemble& ensemble) {
  learned::SafeTensors content{.tensors =
                                   learned::WeightsOf(ensemble.module())};
  content.metadata[kKey] = InfoToJson(ensemble.info()).dump();
  return learned::SerializeSealed(std::move(content));
}

Ensemble ParseEnsemble(std::string_view bytes, const std::string& origin) {
  const learned::SafeTensors content =
      learned::ParseSealed(bytes, learned::kSealedClasses, origin);
  Ensemble ensemble(
      InfoFromJson(ParseJson(content.metadata.at(kKey), origin), origin));
  learned::LoadWeights(content.tensors, origin, ensemble.module());
  return ensemble;
}

Ensemble ReadEnsemble(const std::string& path) {
  return ParseEnsemble(ReadFile(path, kMostClassBytes), path);
}

}  // namespace foretell::classify
