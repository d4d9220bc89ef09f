#include "src/classify/class_checkpoint.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "foretell/error.h"
#include "src/core/files.h"
#include "src/core/json_fields.h"
#include "src/core/units.h"
#include "src/network/sealed.h"
#include "src/network/weights.h"

namespace foretell::classify {
namespace {

constexpr const char* kKey = learned::kSealedClasses.key;
/// Some hundred times the size of the largest ensemble.
constexpr std::int64_t kMostClassBytes = 256 * kMiB;

void DescribeClasses(JsonFields& fields, MemoryClasses& classes) {
  std::vector<double> edges = classes.edges_mib();
  fields.Value("edges_mib", edges);
  try {
    classes = MemoryClasses(std::move(edges));
  } catch (const Error& error) {
    fields.Require(false, "edges_mib",
                   fmt::format("is unusable: {}", error.what()));
  }
}

void DescribeInfo(JsonFields& fields, EnsembleInfo& info) {
  fields.SchemaVersion(kClassCheckpointSchema);
  DescribeClasses(fields, info.classes);
  fields.Named("inputs", info.inputs, &InputSetName, &ParseInputSet);
  fields.Named("estimator", info.kind, &EstimatorName, &ParseEstimator);
  fields.Int("members", info.members, 1, Ensemble::kMostMembers);
  fields.Text("device", info.device);
  fields.Text("environment", info.environment);
  fields.Texts("sets", info.sets);
  fields.Int("steps", info.steps, 1, std::int64_t{1} << 40);
  const std::vector<std::string> own = NumberNames(info.inputs, info.classes);
  std::vector<std::string> numbers = own;
  fields.Texts("numbers", numbers);
  fields.Require(numbers == own, "numbers",
                 "are not those that this foretell encodes");
}

EnsembleInfo InfoFromJson(const nlohmann::json& document,
                          const std::string& origin) {
  const MemoryClasses replaced({1});
  return ReadFields<EnsembleInfo>(JsonObject(document, origin, ""),
                                  &DescribeInfo, {.classes = replaced});
}

}  // namespace

std::string SerializeEnsemble(const Ensemble& ensemble) {
  learned::SafeTensors content{.tensors =
                                   learned::WeightsOf(ensemble.module())};
  content.metadata[kKey] =
      nlohmann::json(WriteFields(ensemble.info(), &DescribeInfo)).dump();
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
